import type { Resource } from "@bulrush/model";
import { type Choices, definedFields } from "./choices.ts";
import { randomClusterPolicy, randomKubernetesPolicy } from "./random-kubernetes.ts";
import { CALICO_POLICY_KINDS, randomCalicoPolicy, randomTier, TIERS } from "./random-policy.ts";
import { SERVICES } from "./random-rule.ts";
import { randomLabels } from "./random-selector.ts";
import {
  ACCOUNT_LABELS,
  EVERYTHING,
  NAMESPACE_LABELS,
  NAMESPACES,
  NETS,
  POD_LABELS,
  POD_PLACES,
  PORT_NAMES,
  type RandomPodPlace,
  SERVED_PORTS,
  SERVICE_ACCOUNTS,
} from "./vocabulary.ts";

/** A pod that is there now. */
export interface RandomPod {
  /** `namespace/name`. */
  readonly name: string;
  readonly addresses: readonly string[];
}

interface PodState {
  readonly place: RandomPodPlace;
  addresses: readonly string[];
  isThere: boolean;
  resource: Resource;
}

const POLICY_NAMES = ["p0", "p1", "p2", "p3", "p4"] as const;
const MAX_POLICIES = 9;
const HOSTS = ["host-a", "host-b"] as const;

/** The hosts, which never change. */
export function hostResources(): Resource[] {
  return HOSTS.map((name, i) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name },
    status: {
      addresses: [
        { type: "InternalIP", address: `192.0.2.${i + 1}` },
        { type: "InternalIP", address: `2001:db8::${i + 1}` },
      ],
    },
  }));
}

/**
 * A cluster of random policies, labels, networks and services over a few pods that are always the same, and random
 * changes to it.
 *
 * Invariant: everything in it is valid; no two pods that are there have one address.
 */
export class RandomWorld {
  readonly #choices: Choices;
  readonly #pods: PodState[];
  /** All but pods, by what names them. */
  readonly #resources = new Map<string, Resource>();
  readonly #policies = new Set<string>();

  constructor(choices: Choices) {
    this.#choices = choices;
    for (const name of NAMESPACES) this.#relabelNamespace(name);
    for (const namespace of NAMESPACES) for (const name of SERVICE_ACCOUNTS) this.#relabelAccount(namespace, name);
    this.#pods = POD_PLACES.map((place) => ({
      place,
      addresses: place.addresses,
      isThere: true,
      resource: this.#makePod(place),
    }));
    for (const name of TIERS.slice(0, 3)) if (choices.chance(0.75)) this.#put(randomTier(choices, name));
    for (let i = choices.between(0, 3); i > 0; i--) this.#changeNetworkSet();
    for (let i = choices.between(0, 3); i > 0; i--) this.#changeSlice();
    for (let i = choices.between(1, 6); i > 0; i--) this.#changePolicy();
  }

  get pods(): readonly RandomPod[] {
    return this.#pods
      .filter(({ isThere }) => isThere)
      .map(({ place, addresses }) => ({ name: `${place.namespace}/${place.name}`, addresses }));
  }

  resources(): Resource[] {
    const pods = this.#pods.filter(({ isThere }) => isThere);
    return [
      ...this.#resources.values(),
      ...pods.map(({ resource, addresses }) => ({
        ...resource,
        status: { phase: "Running", podIPs: addresses.map((ip) => ({ ip })) },
      })),
    ];
  }

  /** Keys of the policies, for `without`. */
  get policies(): readonly string[] {
    return [...this.#policies];
  }

  /** Takes a policy out, by its key. */
  remove(policy: string): void {
    this.#policies.delete(policy);
    this.#resources.delete(policy);
  }

  /** Puts back what was taken out. */
  restore(policy: string, resource: Resource): void {
    this.#policies.add(policy);
    this.#resources.set(policy, resource);
  }

  get(policy: string): Resource | undefined {
    return this.#resources.get(policy);
  }

  /** A few random changes, all at once. */
  change(): void {
    for (let i = this.#choices.between(1, 4); i > 0; i--) this.#changeOne();
  }

  #changeOne(): void {
    const choices = this.#choices;
    switch (choices.below(12)) {
      case 0:
        return this.#relabelNamespace(choices.pick(NAMESPACES));
      case 1:
        return this.#relabelAccount(choices.pick(NAMESPACES), choices.pick(SERVICE_ACCOUNTS));
      case 2:
      case 3: {
        const pod = choices.pick(this.#pods);
        pod.resource = this.#makePod(pod.place);
        return;
      }
      case 4:
        return this.#movePods();
      case 5:
      case 6:
        return this.#changeNetworkSet();
      case 7:
        return this.#changeSlice();
      case 8: {
        const name = choices.pick(TIERS.slice(0, 3));
        if (choices.chance(0.3)) this.#drop("Tier", "", name);
        else this.#put(randomTier(choices, name));
        return;
      }
      default:
        return this.#changePolicy();
    }
  }

  #put(resource: Resource): string {
    const { kind, apiVersion, metadata } = resource;
    const key = `${apiVersion} ${kind} ${metadata.namespace ?? ""} ${metadata.name}`;
    this.#resources.set(key, resource);
    return key;
  }

  #drop(kind: string, namespace: string, name: string): void {
    for (const [key, { kind: other, metadata }] of this.#resources)
      if (other === kind && (metadata.namespace ?? "") === namespace && metadata.name === name)
        this.#resources.delete(key);
  }

  #relabelNamespace(name: string): void {
    const labels = { "kubernetes.io/metadata.name": name, ...randomLabels(this.#choices, NAMESPACE_LABELS) };
    this.#put({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
  }

  #relabelAccount(namespace: string, name: string): void {
    const labels = randomLabels(this.#choices, ACCOUNT_LABELS);
    this.#put({ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name, labels } });
  }

  #makePod({ namespace, name, node }: RandomPodPlace): Resource {
    const choices = this.#choices;
    // A name may stand for ports of several protocols, and a port may have none.
    const containers = SERVED_PORTS.map(({ protocol, port }, i) => ({
      name: `c${i}`,
      ports: [
        definedFields({
          name: choices.maybe(0.8, () => choices.pick(PORT_NAMES)),
          containerPort: port,
          protocol: protocol === "TCP" && choices.chance(0.3) ? undefined : protocol,
        }),
      ],
    }));
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace, name, labels: randomLabels(choices, POD_LABELS) },
      spec: { nodeName: node, serviceAccountName: choices.pick(SERVICE_ACCOUNTS), containers },
    };
  }

  /** A pod goes, comes back, or changes addresses with another one: addresses get new owners. */
  #movePods(): void {
    const choices = this.#choices;
    const pod = choices.pick(this.#pods);
    const twins = this.#pods.filter(
      (other) => other !== pod && sameFamilies(other.addresses, pod.addresses) && other.isThere,
    );
    if (!pod.isThere || twins.length === 0 || choices.chance(0.4)) {
      pod.isThere = !pod.isThere;
      return;
    }
    const twin = choices.pick(twins);
    [pod.addresses, twin.addresses] = [twin.addresses, pod.addresses];
  }

  #changeNetworkSet(): void {
    const choices = this.#choices;
    const isGlobal = choices.chance(0.6);
    const name = choices.pick(["n0", "n1", "n2"]);
    const namespace = isGlobal ? "" : choices.pick(NAMESPACES);
    const kind = isGlobal ? "GlobalNetworkSet" : "NetworkSet";
    if (choices.chance(0.25)) return this.#drop(kind, namespace, name);
    const nets = choices.some([...NETS[4], ...NETS[6], EVERYTHING[4], EVERYTHING[6]], 0, 6);
    this.#put({
      apiVersion: "projectcalico.org/v3",
      kind,
      metadata: { name, ...(isGlobal ? {} : { namespace }), labels: randomLabels(choices, POD_LABELS) },
      spec: { nets },
    });
  }

  #changeSlice(): void {
    const choices = this.#choices;
    const namespace = choices.pick(NAMESPACES);
    const name = choices.pick(["s0", "s1"]);
    if (choices.chance(0.2)) return this.#drop("EndpointSlice", namespace, name);
    const isIPv4 = choices.chance(0.5);
    const addresses = POD_PLACES.flatMap((place) => place.addresses).filter((text) => text.includes(":") !== isIPv4);
    this.#put({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { namespace, name, labels: { "kubernetes.io/service-name": choices.pick(SERVICES) } },
      addressType: isIPv4 ? "IPv4" : "IPv6",
      endpoints: choices.some(addresses, 0, 4).map((address) => ({ addresses: [address] })),
      ports: choices.some(SERVED_PORTS, 0, 3).map(({ port, protocol }) => ({ name: "", port, protocol })),
    } as Resource);
  }

  #changePolicy(): void {
    const choices = this.#choices;
    const isFull = this.#policies.size >= MAX_POLICIES;
    if (this.#policies.size > 0 && choices.chance(isFull ? 0.7 : 0.2)) {
      this.remove(choices.pick([...this.#policies]));
      return;
    }
    if (isFull) return;
    const name = choices.pick(POLICY_NAMES);
    const policy = choices.chance(0.3)
      ? randomKubernetesPolicy(choices, name, choices.chance(0.1))
      : choices.chance(0.2)
        ? randomClusterPolicy(choices, name)
        : randomCalicoPolicy(
            choices,
            choices.pick(["NetworkPolicy", "GlobalNetworkPolicy", ...CALICO_POLICY_KINDS]),
            name,
          );
    this.#policies.add(this.#put(policy));
  }
}

function sameFamilies(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text.includes(":") === b[i]?.includes(":"));
}
