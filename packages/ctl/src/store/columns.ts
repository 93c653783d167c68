import { isObject, type Resource } from "@bulrush/model";

/** A column of a table of resources. */
export interface Column {
  readonly title: string;
  read(resource: Resource): unknown;
}

/** A field of the spec, by its path with dots. */
function spec(title: string, path: string): Column {
  return {
    title,
    read: (resource) => {
      let at: unknown = resource.spec;
      for (const step of path.split(".")) at = isObject(at) ? at[step] : undefined;
      return at;
    },
  };
}

/** A field of the status, or of the object itself. */
function field(title: string, read: (object: Readonly<Record<string, unknown>>) => unknown): Column {
  return { title, read: (resource) => read(resource as unknown as Record<string, unknown>) };
}

const POLICY: readonly Column[] = [
  spec("TIER", "tier"),
  spec("ORDER", "order"),
  spec("TYPES", "types"),
  spec("SELECTOR", "selector"),
];

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  NetworkPolicy: POLICY,
  GlobalNetworkPolicy: POLICY,
  StagedNetworkPolicy: [...POLICY, spec("ACTION", "stagedAction")],
  StagedGlobalNetworkPolicy: [...POLICY, spec("ACTION", "stagedAction")],
  Tier: [spec("ORDER", "order"), spec("DEFAULT", "defaultAction")],
  NetworkSet: [spec("NETS", "nets")],
  GlobalNetworkSet: [spec("NETS", "nets")],
  HostEndpoint: [spec("NODE", "node"), spec("INTERFACE", "interfaceName"), spec("IPS", "expectedIPs")],
  WorkloadEndpoint: [spec("NODE", "node"), spec("INTERFACE", "interfaceName"), spec("NETWORKS", "ipNetworks")],
  IPPool: [
    spec("CIDR", "cidr"),
    spec("IPIP", "ipipMode"),
    spec("VXLAN", "vxlanMode"),
    spec("NAT", "natOutgoing"),
    spec("SELECTOR", "nodeSelector"),
  ],
  BGPPeer: [spec("PEER", "peerIP"), spec("NODE", "node"), spec("ASN", "asNumber")],
  BGPConfiguration: [spec("ASN", "asNumber"), spec("MESH", "nodeToNodeMeshEnabled")],
  ClusterInformation: [spec("READY", "datastoreReady"), spec("VERSION", "calicoVersion"), spec("TYPE", "clusterType")],
  IPAMBlock: [spec("CIDR", "cidr"), spec("AFFINITY", "affinity")],
  BlockAffinity: [spec("CIDR", "cidr"), spec("NODE", "node"), spec("STATE", "state")],
  CalicoNodeStatus: [
    spec("NODE", "node"),
    field("UPDATED", ({ status }) => (isObject(status) ? status["lastUpdated"] : "")),
  ],
  Node: [spec("IPV4", "bgp.ipv4Address"), spec("IPV6", "bgp.ipv6Address"), spec("ASN", "bgp.asNumber")],
  Pod: [
    spec("NODE", "nodeName"),
    field("IP", ({ status }) => (isObject(status) ? status["podIP"] : "")),
    field("PHASE", ({ status }) => (isObject(status) ? status["phase"] : "")),
  ],
  EndpointSlice: [field("ADDRESSTYPE", (object) => object["addressType"])],
  Service: [spec("TYPE", "type"), spec("CLUSTER-IP", "clusterIP")],
};

/** What a table shows of a kind beside namespace and name. */
export function columnsOf({ kind }: { readonly kind: string }): readonly Column[] {
  return COLUMNS[kind] ?? [];
}

/** A cell: lists with commas, at most `MAX_CELL` characters, "" for what is not there. */
export function cellText(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = Array.isArray(value)
    ? value.map(String).join(",")
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value as string | number | boolean);
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 3)}...` : text;
}

const MAX_CELL = 60;
