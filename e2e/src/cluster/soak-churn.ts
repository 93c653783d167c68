import type { Random } from "@bulrush/base";
import type { Resource } from "@bulrush/model";

const NAMESPACES = ["x", "y", "z"] as const;
const PORTS = [80, 81] as const;
/** So many of a kind at most, beside those of the world that is churned. */
const MOST = { pods: 18, policies: 12, clusterPolicies: 6, sets: 6 } as const;

type Kind = keyof typeof MOST;

/**
 * Objects that come, change and go, a few at a time. Addresses are used again, as they are in a cluster.
 *
 * Invariant: `#held` has at most {@link MOST} of each kind.
 */
export class SoakChurn {
  readonly #random: Random;
  readonly #nodes: readonly string[];
  readonly #held: Readonly<Record<Kind, Map<number, Resource>>> = {
    pods: new Map(),
    policies: new Map(),
    clusterPolicies: new Map(),
    sets: new Map(),
  };
  #changes = 0;

  constructor(random: Random, nodes: readonly string[]) {
    this.#random = random;
    this.#nodes = nodes;
  }

  /** How many objects have been written or taken away. */
  get changes(): number {
    return this.#changes;
  }

  /** One more turn of it: what is there now. */
  turn(): Resource[] {
    for (let i = 0; i < 4; i++) {
      const kind = this.#pick(["pods", "pods", "policies", "policies", "clusterPolicies", "sets"] as const);
      const slot = Math.floor(this.#random() * MOST[kind]);
      const held = this.#held[kind];
      this.#changes++;
      if (held.has(slot) && this.#random() < 0.5) held.delete(slot);
      else held.set(slot, this.#make(kind, slot));
    }
    return Object.values(this.#held).flatMap((held) => [...held.values()]);
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)] as T;
  }

  #make(kind: Kind, slot: number): Resource {
    const namespace = this.#pick(NAMESPACES);
    const name = `churn-${slot}`;
    const port = this.#pick(PORTS);
    const peer = this.#pick(NAMESPACES);
    switch (kind) {
      case "pods": {
        // One that is there keeps its name, its place and its address; its labels change.
        const own = NAMESPACES[slot % NAMESPACES.length] ?? "x";
        return {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name, namespace: own, labels: { pod: this.#pick(["a", "b", "c"]), turn: String(this.#changes) } },
          spec: {
            nodeName: this.#nodes[slot % this.#nodes.length],
            containers: [{ name: "main", ports: PORTS.map((containerPort) => ({ containerPort, protocol: "TCP" })) }],
          },
          status: { phase: "Running", podIPs: [{ ip: `10.65.9.${slot + 1}` }] },
        };
      }
      case "policies":
        return {
          apiVersion: "networking.k8s.io/v1",
          kind: "NetworkPolicy",
          metadata: { name, namespace: NAMESPACES[slot % NAMESPACES.length] ?? "x" },
          spec: {
            podSelector: { matchLabels: { pod: this.#pick(["a", "b", "c"]) } },
            policyTypes: ["Ingress"],
            ingress: [
              { from: [{ namespaceSelector: { matchLabels: { ns: peer } } }], ports: [{ port, protocol: "TCP" }] },
            ],
          },
        };
      case "clusterPolicies":
        return {
          apiVersion: "policy.networking.k8s.io/v1alpha2",
          kind: "ClusterNetworkPolicy",
          metadata: { name },
          spec: {
            tier: this.#pick(["Admin", "Baseline"]),
            priority: slot,
            subject: { namespaces: { matchLabels: { ns: namespace } } },
            ingress: [
              {
                name: "rule",
                action: this.#pick(["Accept", "Deny", "Pass"]),
                from: [{ namespaces: { matchLabels: { ns: peer } } }],
                protocols: [{ tcp: { destinationPort: { number: port } } }],
              },
            ],
          },
        };
      case "sets":
        return {
          apiVersion: "projectcalico.org/v3",
          kind: "GlobalNetworkSet",
          metadata: { name, labels: { set: name } },
          spec: { nets: Array.from({ length: 20 }, (_, i) => `198.51.${(this.#changes + i) % 250}.0/24`) },
        };
    }
  }
}
