import type { NodeResource, Resource, ServiceResource } from "@bulrush/model";
import { type Contents, entriesOf, resourcesOf, type View } from "./contents.ts";
import { naiveMatch } from "./naive-selector.ts";

type Sections = Record<string, unknown>;

/** What goes to the dataplane almost as it stands in the datastore, by section of the dataplane's state. */
export function expectedPassthrough(view: View): Sections {
  const { contents } = view;
  return {
    hostMetadata: Object.fromEntries(
      resourcesOf(contents, "Node").flatMap(([key, node]) => {
        const metadata = hostMetadata(node as NodeResource);
        return metadata === undefined
          ? []
          : [[key.name, { msg: "HostMetadataUpdate", hostname: key.name, ...metadata }]];
      }),
    ),
    ipamPools: Object.fromEntries(
      entriesOf(contents, "IPPool").map(([key, pool]) => {
        const id = key.cidr.replace("/", "-");
        const { cidr, masquerade, ipip_mode, vxlan_mode, allowed_uses } = pool;
        return [id, { msg: "IPAMPoolUpdate", id, pool: { cidr, masquerade, ipip_mode, vxlan_mode, allowed_uses } }];
      }),
    ),
    services: Object.fromEntries(
      resourcesOf(contents, "KubernetesService").map(([key, service]) => [
        `${key.namespace}/${key.name}`,
        {
          msg: "ServiceUpdate",
          name: key.name,
          namespace: key.namespace,
          ...serviceFields(service as ServiceResource),
        },
      ]),
    ),
    ...profiles(contents),
    ...wireguard(contents),
    globalBgpConfig: bgpConfig(contents),
  };
}

function hostMetadata({ spec, metadata }: NodeResource): object | undefined {
  const bgp = spec?.bgp;
  const isEmpty = bgp !== undefined && Object.values(bgp).every((value) => value === "" || value === 0);
  if (isEmpty) return undefined;
  const fallback = (family: 4 | 6): string => {
    const ofType = (type: string): string | undefined =>
      spec?.addresses?.find((one) => one.type === type && one.address.includes(":") === (family === 6))?.address;
    const address = ofType("InternalIP") ?? ofType("ExternalIP");
    return address === undefined ? "" : `${address}/${family === 4 ? 32 : 128}`;
  };
  return {
    ipv4_addr: bgp?.ipv4Address ?? fallback(4),
    ipv6_addr: bgp?.ipv6Address ?? fallback(6),
    asnumber: bgp?.asNumber === undefined ? "" : String(bgp.asNumber),
    labels: new Map(Object.entries(metadata.labels ?? {})),
  };
}

function serviceFields({ spec, status }: ServiceResource): object {
  const ingress =
    (status as { loadBalancer?: { ingress?: { ip: string }[] } } | undefined)?.loadBalancer?.ingress ?? [];
  return {
    type: spec?.type ?? "",
    cluster_ips: spec?.clusterIPs ?? [],
    loadbalancer_ip: spec?.loadBalancerIP ?? "",
    external_ips: spec?.externalIPs ?? [],
    ports: (spec?.ports ?? []).map(({ protocol = "", port = 0, nodePort = 0 }) => ({
      protocol,
      port,
      node_port: nodePort,
    })),
    loadbalancer_ingress_ips: ingress.map(({ ip }) => ip),
  };
}

/** Namespaces and service accounts, as the names of profiles tell them. */
function profiles(contents: Contents): Sections {
  const namespaces: Record<string, unknown> = {};
  const serviceAccounts: Record<string, unknown> = {};
  for (const [{ name: profile }, resource] of resourcesOf(contents, "Profile")) {
    const labels = (resource.spec as { labelsToApply?: Record<string, string> } | undefined)?.labelsToApply ?? {};
    const stripped = (prefix: string): ReadonlyMap<string, string> =>
      new Map(
        Object.entries(labels).map(([name, value]) => [
          name.startsWith(prefix) ? name.slice(prefix.length) : name,
          value,
        ]),
      );
    const [kind, a = "", b = "", ...rest] = profile.split(".");
    if (kind === "kns" && profile !== "kns.") {
      const id = profile.slice("kns.".length);
      namespaces[id] = { msg: "NamespaceUpdate", id, labels: stripped("pcns.") };
    } else if (kind === "ksa" && a !== "" && b !== "") {
      const name = [b, ...rest].join(".");
      const id = { namespace: a, name };
      serviceAccounts[`${a}/${name}`] = { msg: "ServiceAccountUpdate", id, labels: stripped("pcsa.") };
    }
  }
  return { namespaces, serviceAccounts };
}

/** Both halves of a key stand alone; a half without a public key is none. */
function wireguard(contents: Contents): Sections {
  const v4: Record<string, unknown> = {};
  const v6: Record<string, unknown> = {};
  for (const [{ hostname }, value] of entriesOf(contents, "Wireguard")) {
    const { publicKey = "", publicKeyV6 = "" } = value;
    if (publicKey !== "")
      v4[hostname] = {
        msg: "WireguardEndpointUpdate",
        hostname,
        public_key: publicKey,
        interface_ipv4_addr: value.interfaceIPv4Addr ?? "",
      };
    if (publicKeyV6 !== "")
      v6[hostname] = {
        msg: "WireguardEndpointV6Update",
        hostname,
        public_key_v6: publicKeyV6,
        interface_ipv6_addr: value.interfaceIPv6Addr ?? "",
      };
  }
  return { wireguard: v4, wireguardV6: v6 };
}

interface BgpSpec {
  readonly serviceClusterIPs?: readonly { readonly cidr: string }[];
  readonly serviceExternalIPs?: readonly { readonly cidr: string }[];
  readonly serviceLoadBalancerIPs?: readonly { readonly cidr: string }[];
  readonly localWorkloadPeeringIPV4?: string;
  readonly localWorkloadPeeringIPV6?: string;
}

/** Only that of the name "default" counts; without it, everything is empty. */
function bgpConfig(contents: Contents): object {
  const found = resourcesOf(contents, "BGPConfiguration").find(([key]) => key.name === "default");
  const spec = ((found?.[1] as Resource | undefined)?.spec ?? {}) as BgpSpec;
  const cidrs = (list: "Cluster" | "External" | "LoadBalancer"): string[] =>
    (spec[`service${list}IPs`] ?? []).map(({ cidr }) => cidr).filter((cidr) => cidr !== "");
  return {
    msg: "GlobalBGPConfigUpdate",
    service_cluster_cidrs: cidrs("Cluster"),
    service_external_cidrs: cidrs("External"),
    service_loadbalancer_cidrs: cidrs("LoadBalancer"),
    local_workload_peering_ip_v4: spec.localWorkloadPeeringIPV4 ?? "",
    local_workload_peering_ip_v6: spec.localWorkloadPeeringIPV6 ?? "",
  };
}

/** Held until in sync: the tunnels that the pools ask for, where nobody says so outright. */
export function expectedEncapsulation({ contents, config }: View): object {
  const pools = entriesOf(contents, "IPPool").map(([, pool]) => ({ ...pool, isV6: pool.cidr.includes(":") }));
  const isOurs = config.programClusterRoutes === "Enabled" || config.programClusterRoutes === "EnabledNoEncapOnly";
  return {
    msg: "Encapsulation",
    ipip_enabled: config.explicitIPIPEnabled ?? pools.some((pool) => pool.ipip_mode !== ""),
    vxlan_enabled: config.explicitVXLANEnabled ?? pools.some((pool) => pool.vxlan_mode !== "" && !pool.isV6),
    vxlan_enabled_v6: pools.some((pool) => pool.vxlan_mode !== "" && pool.isV6),
    no_encap_needed: isOurs && pools.some((pool) => pool.ipip_mode === "" && pool.vxlan_mode === ""),
  };
}

/**
 * Held until in sync: the settings. A host's own win, then those of the oldest FelixConfiguration that selects this
 * node, then the global ones.
 */
export function expectedConfig({ contents, hostname }: View): object {
  const global = new Map(entriesOf(contents, "GlobalConfig").map(([key, value]) => [key.name, value]));
  const host = new Map(
    entriesOf(contents, "HostConfig")
      .filter(([key]) => key.hostname === hostname)
      .map(([key, value]) => [key.name, value]),
  );
  const node = resourcesOf(contents, "Node").find(([key]) => key.name === hostname)?.[1];
  const age = ({ metadata }: Resource): string => `${metadata.creationTimestamp} ${metadata.name}`;
  const [selected] = resourcesOf(contents, "FelixConfiguration")
    .map(([, value]) => value)
    .filter(({ spec }) => {
      const { nodeSelector = "" } = (spec ?? {}) as { nodeSelector?: string };
      const labels = new Map(Object.entries(node?.metadata.labels ?? {}));
      return node !== undefined && nodeSelector !== "" && naiveMatch(nodeSelector, labels);
    })
    .sort((a, b) => (age(a) < age(b) ? -1 : 1));
  const selector = selected === undefined ? new Map<string, string>() : parametersOf(selected);
  return { global, selector, host, merged: new Map([...global, ...selector, ...host]) };
}

/** How the graphs of these tests read a FelixConfiguration. */
export function parametersOf({ metadata, spec }: Resource): ReadonlyMap<string, string> {
  const { mtu } = (spec ?? {}) as { mtu?: string };
  return new Map([["From", metadata.name], ...(mtu === undefined ? [] : [["Mtu", mtu] as const])]);
}

/** Whether the datastore says that it may be used. */
export function isReady({ contents }: View): boolean {
  return entriesOf(contents, "ReadyFlag").some(([, value]) => value);
}
