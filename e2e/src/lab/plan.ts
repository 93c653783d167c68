import { type Address, compareAddresses, formatAddress, parseAddress, parseCidr } from "@bulrush/ip";
import type { Resource, Update } from "@bulrush/model";
import type { ProbeProtocol } from "./prober.ts";

export interface HostPlan {
  readonly name: string;
  readonly addresses: readonly Address[];
}

export interface ServedPort {
  readonly protocol: ProbeProtocol;
  readonly port: number;
}

export interface PodPlan {
  /** `namespace/name`. */
  readonly name: string;
  readonly host: string;
  /** The host's side of the pod's link, as the policy engine will know it. */
  readonly interfaceName: string;
  readonly addresses: readonly Address[];
  readonly ports: readonly ServedPort[];
}

/** What a set of manifests asks for: which hosts, which pods on them, and what those listen on. */
export interface LabPlan {
  readonly hosts: readonly HostPlan[];
  readonly pods: readonly PodPlan[];
  /** Pods that are left aside, each with the reason in words. */
  readonly aside: readonly { readonly pod: string; readonly reason: string }[];
}

interface PodShape {
  readonly spec?: {
    readonly nodeName?: string;
    readonly hostNetwork?: boolean;
    readonly containers?: readonly ContainerShape[];
    readonly initContainers?: readonly ContainerShape[];
  };
}

interface ContainerShape {
  readonly ports?: readonly { readonly containerPort?: number; readonly protocol?: string }[];
}

const PROTOCOLS: readonly string[] = ["TCP", "UDP", "SCTP"];
/** Hosts without an address of their own get one from here (RFC 6890: benchmarking, never routed). */
const FIRST_SPARE_HOST = 0xc6120001;

function servedPorts(pod: PodShape): ServedPort[] {
  const ports = new Map<string, ServedPort>();
  for (const container of [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])]) {
    for (const { containerPort, protocol = "TCP" } of container.ports ?? []) {
      if (containerPort === undefined || !PROTOCOLS.includes(protocol)) continue;
      ports.set(`${protocol}/${containerPort}`, { protocol: protocol as ProbeProtocol, port: containerPort });
    }
  }
  return [...ports.values()].sort((a, b) => a.port - b.port || (a.protocol < b.protocol ? -1 : 1));
}

function nodeAddresses(node: Resource): Address[] {
  const status = node.status as { addresses?: readonly { type?: string; address?: string }[] } | undefined;
  const spec = node.spec as { bgp?: { ipv4Address?: string; ipv6Address?: string } } | undefined;
  const texts = [
    spec?.bgp?.ipv4Address,
    spec?.bgp?.ipv6Address,
    ...(status?.addresses ?? []).filter((entry) => entry.type === "InternalIP").map((entry) => entry.address),
  ];
  const found = new Map<4 | 6, Address>();
  for (const text of texts) {
    const cidr = text === undefined ? undefined : parseCidr(text);
    if (cidr !== undefined && !found.has(cidr.family))
      found.set(cidr.family, { family: cidr.family, words: cidr.words });
  }
  return [...found.values()].sort(compareAddresses);
}

/**
 * Reads the plan out of resources and of the v1 KVs that they convert to: an endpoint of the KVs is a pod of the lab,
 * so the lab and the policy engine agree on names, interfaces and addresses.
 */
export function planLab(resources: readonly Resource[], updates: readonly Update[]): LabPlan {
  const pods: PodPlan[] = [];
  const aside: { pod: string; reason: string }[] = [];
  const owners = new Map<string, string>();
  const endpoints = new Map<string, Update>();
  for (const update of updates)
    if (update.key.type === "WorkloadEndpoint" && update.value !== undefined)
      endpoints.set(update.key.workload, update);
  for (const resource of resources) {
    if (resource.kind !== "Pod" || resource.apiVersion !== "v1") continue;
    const name = `${resource.metadata.namespace ?? "default"}/${resource.metadata.name}`;
    const shape = resource as unknown as PodShape;
    const update = endpoints.get(name);
    if (update?.key.type !== "WorkloadEndpoint") {
      const reason =
        shape.spec?.hostNetwork === true
          ? "it is on the host's network"
          : shape.spec?.nodeName === undefined || shape.spec.nodeName === ""
            ? "it is not scheduled"
            : "it has no address, or is finished";
      aside.push({ pod: name, reason });
      continue;
    }
    const value = update.value as { name: string; ipv4_nets: readonly string[]; ipv6_nets: readonly string[] };
    const addresses = [...value.ipv4_nets, ...value.ipv6_nets].flatMap((net) => {
      const address = parseAddress(net.slice(0, net.indexOf("/")));
      return address === undefined ? [] : [address];
    });
    const taken = addresses.map(formatAddress).find((text) => owners.has(text));
    if (taken !== undefined) {
      aside.push({ pod: name, reason: `its address ${taken} is that of ${owners.get(taken)}` });
      continue;
    }
    for (const address of addresses) owners.set(formatAddress(address), name);
    pods.push({ name, host: update.key.hostname, interfaceName: value.name, addresses, ports: servedPorts(shape) });
  }
  return { hosts: planHosts(resources, pods), pods, aside };
}

function planHosts(resources: readonly Resource[], pods: readonly PodPlan[]): HostPlan[] {
  const hosts = new Map<string, HostPlan>();
  for (const resource of resources)
    if (resource.kind === "Node")
      hosts.set(resource.metadata.name, { name: resource.metadata.name, addresses: nodeAddresses(resource) });
  for (const pod of pods) if (!hosts.has(pod.host)) hosts.set(pod.host, { name: pod.host, addresses: [] });
  let spare = FIRST_SPARE_HOST;
  return [...hosts.values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((host) => {
      if (host.addresses.some((address) => address.family === 4)) return host;
      return { ...host, addresses: [{ family: 4 as const, words: [spare++] }, ...host.addresses] };
    });
}
