import {
  type Address,
  type Cidr,
  cidrOf,
  compareCidrs,
  containsAddress,
  containsCidr,
  formatCidr,
  parseAddress,
} from "@bulrush/ip";
import type { IPPool, NodeResource } from "@bulrush/model";
import type { RouteType, RouteUpdate } from "@bulrush/proto";
import { entriesOf, isLocal, resourcesOf, type View } from "./contents.ts";
import { mustCidr } from "./items.ts";

type RefType = "workload" | "wireguard" | "ipip" | "vxlan";

/** In order: the first of an address decides what it is. */
const REF_TYPES: readonly RefType[] = ["workload", "wireguard", "ipip", "vxlan"];

/** One reason for a route: a pool, a block (or an address lent out of one), an address of a host, a user of an address. */
type Entry = { readonly cidr: Cidr } & (
  | { readonly is: "pool"; readonly pool: IPPool }
  | { readonly is: "block"; readonly node: string }
  | { readonly is: "host"; readonly node: string }
  | { readonly is: "ref"; readonly node: string; readonly type: RefType }
);

/** Whether something on this host needs routes. Those through IPIP may be left to others. */
function hasRoutes({ config }: View): boolean {
  const { ipipEnabled, vxlanEnabled, vxlanEnabledV6, wireguardEnabled, noEncapNeeded, programClusterRoutes } = config;
  const isIpip = ipipEnabled && (programClusterRoutes === "Enabled" || programClusterRoutes === "EnabledIPIPOnly");
  return vxlanEnabled || vxlanEnabledV6 || wireguardEnabled || noEncapNeeded || isIpip;
}

/** One route for each network that there is a reason for. */
export function expectedRoutes(view: View): Record<string, RouteUpdate> {
  if (!hasRoutes(view)) return {};
  const entries = [...poolEntries(view), ...blockEntries(view), ...nodeEntries(view), ...workloadEntries(view)];
  const out: Record<string, RouteUpdate> = {};
  for (const { cidr } of entries) {
    if (cidr.words.every((word) => word === 0) && cidr.prefixLength >= 32) continue;
    out[formatCidr(cidr)] ??= routeOf(view, cidr, entries);
  }
  return out;
}

function poolEntries(view: View): Entry[] {
  return entriesOf(view.contents, "IPPool").map(([, pool]) => ({ is: "pool", cidr: mustCidr(pool.cidr), pool }));
}

function blockEntries(view: View): Entry[] {
  if (view.config.routeSource !== "CalicoIPAM") return [];
  const out: Entry[] = [];
  for (const [, block] of entriesOf(view.contents, "Block")) {
    const cidr = mustCidr(block.cidr);
    const owner = /^(?:host|virtual):(.+)$/.exec(block.affinity ?? "")?.[1];
    const lent = block.allocations.flatMap((index, ordinal): Entry[] => {
      const node = index === null ? undefined : block.attributes[index]?.secondary?.["node"];
      return node === undefined || node === owner ? [] : [{ is: "block", cidr: cidrOf(nth(cidr, ordinal)), node }];
    });
    // The whole of a block of one address may be lent.
    const isWhole = lent.some((entry) => compareCidrs(entry.cidr, cidr) === 0);
    if (owner !== undefined && !isWhole) out.push({ is: "block", cidr, node: owner });
    out.push(...lent);
  }
  return out;
}

function nth(cidr: Cidr, ordinal: number): Address {
  const words = cidr.words.map((word, i) => (i === cidr.words.length - 1 ? word + ordinal : word));
  return { family: cidr.family, words };
}

/** The address of a node in each family, or "". */
export function nodeAddresses(node: NodeResource): { readonly 4: string; readonly 6: string } {
  const { bgp, addresses = [] } = node.spec ?? {};
  if (bgp?.ipv4Address !== undefined || bgp?.ipv6Address !== undefined)
    return { 4: addressOf(bgp.ipv4Address ?? ""), 6: addressOf(bgp.ipv6Address ?? "") };
  const find = (family: 4 | 6): string => {
    for (const type of ["InternalIP", "ExternalIP"])
      for (const one of addresses)
        if (one.type === type && one.address.includes(":") === (family === 6)) return addressOf(one.address);
    return "";
  };
  return { 4: find(4), 6: find(6) };
}

function nodeEntries(view: View): Entry[] {
  const out: Entry[] = [];
  for (const [{ name }, resource] of resourcesOf(view.contents, "Node")) {
    const node = resource as NodeResource;
    const { bgp, addresses = [], wireguard } = node.spec ?? {};
    const own = nodeAddresses(node);
    for (const text of [own[4], own[6], ...addresses.map((one) => addressOf(one.address))]) {
      const address = parseAddress(text);
      if (address !== undefined) out.push({ is: "host", cidr: cidrOf(address), node: name });
    }
    const tunnels: [RefType, string | undefined][] = [
      ["wireguard", wireguard?.interfaceIPv4Address],
      ["wireguard", wireguard?.interfaceIPv6Address],
      ["ipip", bgp?.ipv4IPIPTunnelAddr],
      ["vxlan", node.spec?.ipv4VXLANTunnelAddr],
      ["vxlan", node.spec?.ipv6VXLANTunnelAddr],
    ];
    for (const [type, text = ""] of tunnels) {
      const address = parseAddress(addressOf(text));
      if (address !== undefined) out.push({ is: "ref", cidr: cidrOf(address), node: name, type });
    }
  }
  return out;
}

function workloadEntries(view: View): Entry[] {
  return entriesOf(view.contents, "WorkloadEndpoint")
    .filter(([key]) => view.config.routeSource === "WorkloadIPs" || isLocal(view, key.hostname))
    .flatMap(([key, { ipv4_nets, ipv6_nets }]) =>
      [...ipv4_nets, ...ipv6_nets].map(
        (net): Entry => ({ is: "ref", cidr: mustCidr(net), node: key.hostname, type: "workload" }),
      ),
    );
}

function routeOf(view: View, cidr: Cidr, entries: readonly Entry[]): RouteUpdate {
  const path = entries
    .filter((entry) => containsCidr(entry.cidr, cidr))
    .sort((a, b) => a.cidr.prefixLength - b.cidr.prefixLength || rank(a) - rank(b));
  const here = path.filter((entry) => compareCidrs(entry.cidr, cidr) === 0);
  const pools = path.filter((entry) => entry.is === "pool").map(({ pool }) => pool);
  const blocks = path.filter((entry) => entry.is === "block");
  const hosts = here.filter((entry) => entry.is === "host").sort((a, b) => compare(a.node, b.node));
  const refs = here
    .filter((entry) => entry.is === "ref")
    .sort((a, b) => compare(a.node, b.node) || REF_TYPES.indexOf(a.type) - REF_TYPES.indexOf(b.type));
  const [ref] = refs;
  const owner = ref?.node ?? hosts[0]?.node ?? blocks.at(-1)?.node ?? "";
  const types = new Set<RouteType>();
  const side = (node: string): "LOCAL" | "REMOTE" => (node === view.hostname ? "LOCAL" : "REMOTE");
  if (hosts[0] !== undefined) types.add(`${side(hosts[0].node)}_HOST`);
  if (ref !== undefined) types.add(`${side(ref.node)}_${ref.type === "workload" ? "WORKLOAD" : "TUNNEL"}`);
  const isTunnel = refs.some(({ node, type }) => node === ref?.node && type !== "workload");
  if (hosts.length === 0 && (here.some((entry) => entry.is === "block") || !isTunnel))
    for (const block of blocks) types.add(`${side(block.node)}_WORKLOAD`);
  const nodeIp = addressOfNode(view, owner, cidr.family);
  const hasTunnel = (type: RefType): boolean => refs.some((one) => one.node === ref?.node && one.type === type);
  return {
    msg: "RouteUpdate",
    dst: formatCidr(cidr),
    types: [...types].sort(),
    ip_pool_type: pools.map(poolType).findLast((type) => type !== "NONE") ?? "NONE",
    dst_node_name: owner,
    dst_node_ip: nodeIp,
    same_subnet: pools.some(isCrossSubnet) && isInOwnSubnet(view, nodeIp),
    nat_outgoing: pools.some((pool) => pool.masquerade),
    local_workload: ref?.type === "workload" && side(ref.node) === "LOCAL",
    tunnel_type: { ipip: hasTunnel("ipip"), vxlan: hasTunnel("vxlan"), wireguard: hasTunnel("wireguard") },
    borrowed:
      blocks[0] !== undefined && [...blocks, ...(ref ? [ref] : [])].some(({ node }) => node !== blocks[0]?.node),
  };
}

function rank(entry: Entry): number {
  return ["pool", "block", "host", "ref"].indexOf(entry.is);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function addressOfNode(view: View, name: string, family: 4 | 6): string {
  const node = resourcesOf(view.contents, "Node").find(([key]) => key.name === name)?.[1];
  return node === undefined ? "" : nodeAddresses(node as NodeResource)[family];
}

function poolType(pool: IPPool): RouteUpdate["ip_pool_type"] {
  if (pool.allowed_uses.length > 0 && pool.allowed_uses.every((use) => use === "LoadBalancer")) return "NONE";
  if (pool.vxlan_mode !== "") return "VXLAN";
  return pool.ipip_mode === "" ? "NO_ENCAP" : "IPIP";
}

function isCrossSubnet(pool: IPPool): boolean {
  return pool.vxlan_mode === "cross-subnet" || pool.ipip_mode === "cross-subnet";
}

function isInOwnSubnet(view: View, nodeIp: string): boolean {
  const own = resourcesOf(view.contents, "Node").find(([key]) => key.name === view.hostname)?.[1] as
    | NodeResource
    | undefined;
  const address = parseAddress(nodeIp);
  if (address === undefined) return false;
  return [own?.spec?.bgp?.ipv4Address, own?.spec?.bgp?.ipv6Address]
    .filter((text) => text !== undefined)
    .some((text) => containsAddress(mustCidr(text), address));
}

/** The address of `address/length`, or the address alone. */
function addressOf(text: string): string {
  return text.split("/")[0] ?? "";
}
