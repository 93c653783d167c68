import type { Resource } from "@bulrush/model";
import type { Labels, OracleAction } from "./case.ts";

const PORTS = [80, 81] as const;
const PROTOCOLS = ["TCP", "UDP", "SCTP"] as const;
const HOSTS = ["host-a", "host-b"] as const;

interface OraclePod {
  readonly index: number;
  labels: Labels;
}

interface OracleNamespace {
  readonly index: number;
  labels: Labels;
  readonly pods: Map<string, OraclePod>;
}

/**
 * The cluster that a case acts on: namespaces x, y, z with pods a, b, c each, spread over two hosts so that every case
 * has flows inside a host and between hosts.
 *
 * Invariant: an index, and so an address, is never used twice while its owner lives.
 */
export class OracleWorld {
  readonly #namespaces = new Map<string, OracleNamespace>();
  readonly #policies = new Map<string, Resource>();

  constructor() {
    for (const name of ["x", "y", "z"]) {
      this.apply({ CreateNamespace: { Namespace: name, Labels: { ns: name } } });
      for (const pod of ["a", "b", "c"]) this.apply({ CreatePod: { Namespace: name, Pod: pod, Labels: { pod } } });
    }
  }

  #namespace(name: string): OracleNamespace {
    const found = this.#namespaces.get(name);
    if (found === undefined) throw new Error(`The case names the namespace ${name}, which is not there`);
    return found;
  }

  #pod(namespace: string, name: string): OraclePod {
    const found = this.#namespace(namespace).pods.get(name);
    if (found === undefined) throw new Error(`The case names the pod ${namespace}/${name}, which is not there`);
    return found;
  }

  apply(action: OracleAction): void {
    if ("CreatePolicy" in action || "UpdatePolicy" in action) {
      const policy = "CreatePolicy" in action ? action.CreatePolicy.Policy : action.UpdatePolicy.Policy;
      // Some cases leave out what their action says already.
      const whole = { ...policy, apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" };
      this.#policies.set(`${policy.metadata.namespace ?? "default"}/${policy.metadata.name}`, whole);
    } else if ("DeletePolicy" in action) {
      this.#policies.delete(`${action.DeletePolicy.Namespace}/${action.DeletePolicy.Name}`);
    } else if ("CreateNamespace" in action) {
      const { Namespace, Labels } = action.CreateNamespace;
      this.#namespaces.set(Namespace, { index: freeIndex(this.#namespaces, 1), labels: Labels, pods: new Map() });
    } else if ("SetNamespaceLabels" in action) {
      this.#namespace(action.SetNamespaceLabels.Namespace).labels = action.SetNamespaceLabels.Labels;
    } else if ("DeleteNamespace" in action) {
      this.#namespaces.delete(action.DeleteNamespace.Namespace);
      for (const key of this.#policies.keys())
        if (key.startsWith(`${action.DeleteNamespace.Namespace}/`)) this.#policies.delete(key);
    } else if ("CreatePod" in action) {
      const { pods } = this.#namespace(action.CreatePod.Namespace);
      pods.set(action.CreatePod.Pod, { index: freeIndex(pods, 0), labels: action.CreatePod.Labels });
    } else if ("SetPodLabels" in action) {
      this.#pod(action.SetPodLabels.Namespace, action.SetPodLabels.Pod).labels = action.SetPodLabels.Labels;
    } else {
      this.#namespace(action.DeletePod.Namespace).pods.delete(action.DeletePod.Pod);
    }
  }

  /** Everything as manifests. */
  resources(): Resource[] {
    const out: Resource[] = HOSTS.map((name, i) => ({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name },
      status: { addresses: [{ type: "InternalIP", address: `192.0.2.${i + 1}` }] },
    }));
    for (const [name, namespace] of this.#namespaces) {
      const labels = { ...namespace.labels, "kubernetes.io/metadata.name": name };
      out.push({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
      for (const [pod, { index, labels: podLabels }] of namespace.pods) {
        const ports = PORTS.flatMap((port) =>
          PROTOCOLS.map((protocol) => ({
            name: `serve-${port}-${protocol.toLowerCase()}`,
            containerPort: port,
            protocol,
          })),
        );
        out.push({
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: pod, namespace: name, labels: podLabels },
          spec: { nodeName: HOSTS[(namespace.index + index) % 2], containers: [{ name: "agnhost", ports }] },
          status: { phase: "Running", podIPs: [{ ip: `10.65.${namespace.index}.${10 + 30 * index}` }] },
        });
      }
    }
    return [...out, ...this.#policies.values()];
  }
}

function freeIndex(taken: ReadonlyMap<string, { readonly index: number }>, first: number): number {
  const used = new Set([...taken.values()].map((entry) => entry.index));
  let index = first;
  while (used.has(index)) index++;
  return index;
}
