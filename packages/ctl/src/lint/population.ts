import { convertResources, type ManifestResource } from "@bulrush/datastore";
import type { HostEndpoint, NetworkSet, ProfileLabels, Resource, Tier, Update, WorkloadEndpoint } from "@bulrush/model";
import { MemberIndex } from "./member-index.ts";

type Labels = ReadonlyMap<string, string>;

/** Something that a selector may pick. */
interface Member {
  readonly what: "workload" | "host" | "set";
  /** Its own and its profiles' labels. */
  readonly labels: Labels;
  readonly ports: readonly { readonly name: string; readonly protocol: string }[];
}

/** What there is beside the policies. */
export interface Population {
  /** Endpoints and sets; every pod that is not on its host's network, wherever it stands and whatever its phase. */
  readonly members: readonly Member[];
  readonly hostNetwork: readonly Member[];
  /** Without any pod or endpoint, nothing can be said about what a selector picks. */
  readonly hasEndpoints: boolean;
  /** Every pod's namespace is there, so that selectors of namespaces can be judged. */
  readonly knowsNamespaces: boolean;
  readonly tiers: ReadonlyMap<string, Tier>;
  /** A tier that nobody has by himself is among the resources. */
  readonly hasOwnTiers: boolean;
  /** Which members a selector picks, by index; undefined for text that cannot be read. */
  pick(selector: string): ReadonlySet<number> | undefined;
  /** The same of the pods on their hosts' network. */
  pickHostNetwork(selector: string): boolean;
}

/** Gathers the endpoints, sets and tiers of a whole set of resources. */
export function populationOf(resources: readonly ManifestResource[], updates: readonly Update[]): Population {
  const profiles = new Map<string, ProfileLabels>();
  const tiers = new Map<string, Tier>();
  for (const { key, value } of updates) {
    if (key.type === "ProfileLabels") profiles.set(key.name, value as ProfileLabels);
    else if (key.type === "Tier") tiers.set(key.name, value as Tier);
  }
  const members: Member[] = [];
  const add = (list: Member[], { key, value }: Update): void => {
    if (value === undefined) return;
    if (key.type === "WorkloadEndpoint") list.push(endpoint("workload", value as WorkloadEndpoint, profiles));
    else if (key.type === "HostEndpoint") list.push(endpoint("host", value as HostEndpoint, profiles));
    else if (key.type === "NetworkSet") {
      const { labels, profile_ids = [] } = value as NetworkSet;
      list.push({ what: "set", labels: withInherited(labels, profile_ids, profiles), ports: [] });
    }
  };
  const pods = resources
    .map(({ resource }) => resource)
    .filter(({ apiVersion, kind }) => apiVersion === "v1" && kind === "Pod");
  const isPodOfKubernetes = ({ key }: Update): boolean => key.type === "WorkloadEndpoint" && key.orchestrator === "k8s";
  for (const update of updates) if (pods.length === 0 || !isPodOfKubernetes(update)) add(members, update);
  const hostNetwork: Member[] = [];
  for (const [list, isHostNetwork] of [
    [members, false],
    [hostNetwork, true],
  ] as const) {
    const those = pods.filter((pod) => isOnHostNetwork(pod) === isHostNetwork).map(asRunning);
    for (const update of convertResources(those).updates) if (isPodOfKubernetes(update)) add(list, update);
  }
  const namespaces = new Set(
    resources.flatMap(({ resource }) => (resource.kind === "Namespace" ? [resource.metadata.name] : [])),
  );
  const index = new MemberIndex(members.map(({ labels }) => labels));
  const hostNetworkIndex = new MemberIndex(hostNetwork.map(({ labels }) => labels));
  return {
    members,
    hostNetwork,
    hasEndpoints: hostNetwork.length > 0 || members.some(({ what }) => what !== "set"),
    knowsNamespaces: pods.every(
      ({ metadata: { namespace = "default" } }) => namespace === "default" || namespaces.has(namespace),
    ),
    tiers,
    hasOwnTiers: resources.some(({ resource }) => resource.kind === "Tier"),
    pick: (selector) => index.pick(selector),
    pickHostNetwork: (selector) => (hostNetworkIndex.pick(selector)?.size ?? 0) > 0,
  };
}

function endpoint(
  what: "workload" | "host",
  { labels, profile_ids, ports = [] }: WorkloadEndpoint | HostEndpoint,
  profiles: ReadonlyMap<string, Labels>,
): Member {
  return {
    what,
    labels: withInherited(labels, profile_ids, profiles),
    ports: ports.map(({ name, protocol }) => ({ name, protocol: String(protocol).toLowerCase() })),
  };
}

function withInherited(own: Labels, profileIds: readonly string[], profiles: ReadonlyMap<string, Labels>): Labels {
  const all = new Map<string, string>();
  for (const id of profileIds) for (const [name, value] of profiles.get(id) ?? []) all.set(name, value);
  for (const [name, value] of own) all.set(name, value);
  return all;
}

function isOnHostNetwork({ spec }: Resource): boolean {
  return (spec as { readonly hostNetwork?: unknown } | undefined)?.hostNetwork === true;
}

/** The pod as an endpoint: a manifest need not say where it runs, or that it does. */
function asRunning(pod: Resource): Resource {
  const { name, namespace, labels } = pod.metadata;
  return {
    ...pod,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...(labels !== undefined && { labels }) },
    spec: { ...(pod.spec as object), nodeName: "node", hostNetwork: false },
    status: { phase: "Running", podIP: "192.0.2.1" },
  };
}
