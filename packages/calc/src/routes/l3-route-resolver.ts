import { type Cidr, CidrTrie, containsAddress, formatCidr, maskCidr, parseAddress, parseCidr } from "@bulrush/ip";
import { type Block, type IPPool, type NodeResource, sameValue } from "@bulrush/model";
import type { RouteType, RouteUpdate } from "@bulrush/proto";
import type { EventSequencer } from "../sequencer/event-sequencer.ts";
import { type BlockRoute, blockRoutes } from "./block-routes.ts";
import { type NodeAddresses, nodeAddresses } from "./node-addresses.ts";
import { poolInfo, RouteInfo, type RefKind } from "./route-info.ts";

/** One thing that something says of a network, and takes back later. */
interface Claim {
  readonly cidr: Cidr;
  readonly node: string;
  readonly kind: "block" | "host" | RefKind;
}

/** The order of types in a message. */
const TYPES: readonly RouteType[] = [
  "REMOTE_WORKLOAD",
  "REMOTE_HOST",
  "LOCAL_WORKLOAD",
  "LOCAL_HOST",
  "REMOTE_TUNNEL",
  "LOCAL_TUNNEL",
];

/**
 * Works out where every network of the cluster is: pools, IPAM blocks, hosts, workloads and ends of tunnels are put into
 * one trie per family, and each network's route follows from all that stands on the way from the root to it.
 *
 * Invariant: the tries hold a {@link RouteInfo} for exactly the networks of which something is known; `#claims` is what
 * each source (by path of its key) has put into them; `#sent` is what the sequencer was last given. Networks whose route
 * may have changed since the last flush are in `#dirty`.
 */
export class L3RouteResolver {
  readonly #sequencer: EventSequencer;
  readonly #hostname: string;
  readonly #trie4 = new CidrTrie<RouteInfo>();
  readonly #trie6 = new CidrTrie<RouteInfo>();
  readonly #claims = new Map<string, ReadonlyMap<string, Claim>>();
  readonly #nodes = new Map<string, NodeAddresses>();
  /** Networks of which a node's name is said, by node: they change with its address. */
  readonly #networksOfNode = new Map<string, Map<string, number>>();
  readonly #dirty = new Map<string, Cidr>();
  readonly #sent = new Map<string, RouteUpdate>();

  constructor(sequencer: EventSequencer, hostname: string) {
    this.#sequencer = sequencer;
    this.#hostname = hostname;
  }

  /** How many things it remembers; 0 once all that it was told of has gone and been flushed. */
  get size(): number {
    const known = [...this.#trie4.entries(), ...this.#trie6.entries()].length;
    return known + this.#claims.size + this.#nodes.size + this.#networksOfNode.size + this.#sent.size;
  }

  setPool(text: string, pool: IPPool | undefined): void {
    const parsed = parseCidr(text);
    if (parsed === undefined) return;
    const cidr = maskCidr(parsed);
    const info = this.#infoAt(cidr);
    const next = pool && poolInfo(pool);
    const changed = !sameValue(info.pool, next);
    info.pool = next;
    if (changed) this.#markInside(cidr);
    this.#prune(info);
  }

  /** `path`: of the block's key. */
  setBlock(path: string, text: string, block: Block | undefined): void {
    const routes: ReadonlyMap<string, BlockRoute> = block === undefined ? new Map() : blockRoutes(text, block);
    const claims = new Map<string, Claim>();
    for (const [key, { cidr, node }] of routes) claims.set(key, { cidr, node, kind: "block" });
    this.#claim(path, claims);
  }

  /** A workload's addresses, on its node; none when it has gone. */
  setWorkload(path: string, node: string, nets: readonly string[]): void {
    const claims = new Map<string, Claim>();
    for (const net of nets) {
      const cidr = parseCidr(net);
      if (cidr !== undefined) claims.set(net, { cidr, node, kind: "workload" });
    }
    this.#claim(path, claims);
  }

  setNode(path: string, name: string, node: NodeResource | undefined): void {
    const old = this.#nodes.get(name);
    const next = node && nodeAddresses(node);
    if (sameValue(old, next)) return;
    if (next === undefined) this.#nodes.delete(name);
    else this.#nodes.set(name, next);
    const claims = new Map<string, Claim>();
    for (const cidr of next?.hosts ?? []) claims.set(`host ${formatCidr(cidr)}`, { cidr, node: name, kind: "host" });
    for (const { cidr, kind } of next?.tunnels ?? [])
      claims.set(`${kind} ${formatCidr(cidr)}`, { cidr, node: name, kind });
    this.#claim(path, claims);
    for (const text of this.#networksOfNode.get(name)?.keys() ?? []) this.#markText(text);
    const subnetsChanged = !sameValue(old?.subnet4, next?.subnet4) || !sameValue(old?.subnet6, next?.subnet6);
    if (name === this.#hostname && subnetsChanged) this.#markAll();
  }

  /** Gives the sequencer the routes that changed. */
  flush(): void {
    for (const [text, cidr] of this.#dirty) {
      const route = this.#trie(cidr).get(cidr) === undefined ? undefined : this.#routeOf(text, cidr);
      const sent = this.#sent.get(text);
      if (route === undefined) {
        if (sent === undefined) continue;
        this.#sent.delete(text);
        this.#sequencer.routes.remove(text, { msg: "RouteRemove", dst: text });
      } else if (sent === undefined || !sameValue(sent, route)) {
        this.#sent.set(text, route);
        this.#sequencer.routes.update(text, route);
      }
    }
    this.#dirty.clear();
  }

  /** From the root to the network; what is deeper counts more, and at one place a block less than a host than a ref. */
  #routeOf(text: string, cidr: Cidr): RouteUpdate {
    const types = new Set<RouteType>();
    const blockTypes = new Set<RouteType>();
    let poolType: RouteUpdate["ip_pool_type"] = "NONE";
    let natOutgoing = false;
    let crossSubnet = false;
    let node = "";
    let firstBlock: string | undefined;
    let borrowed = false;
    let own: RouteInfo | undefined;
    for (const [, info] of this.#trie(cidr).ancestors(cidr)) {
      own = info;
      if (info.pool !== undefined) {
        if (info.pool.type !== "NONE") poolType = info.pool.type;
        natOutgoing ||= info.pool.natOutgoing;
        crossSubnet ||= info.pool.crossSubnet;
      }
      const { block } = info;
      if (block === undefined) continue;
      node = block;
      blockTypes.add(this.#isLocal(block) ? "LOCAL_WORKLOAD" : "REMOTE_WORKLOAD");
      firstBlock ??= block;
      if (block !== firstBlock) borrowed = true;
    }
    const { host, ref } = own ?? {};
    if (host !== undefined) {
      node = host;
      types.add(this.#isLocal(host) ? "LOCAL_HOST" : "REMOTE_HOST");
    }
    if (ref !== undefined) {
      node = ref.node;
      if (firstBlock !== undefined && ref.node !== firstBlock) borrowed = true;
      if (ref.kind === "workload") types.add(this.#isLocal(ref.node) ? "LOCAL_WORKLOAD" : "REMOTE_WORKLOAD");
      else types.add(this.#isLocal(ref.node) ? "LOCAL_TUNNEL" : "REMOTE_TUNNEL");
    }
    const tunnels = own?.tunnels() ?? new Set<RefKind>();
    const endsTunnel = tunnels.size > (tunnels.has("workload") ? 1 : 0);
    // The address of a host, or of a tunnel's end, is not a workload though its block is full of them.
    if (host === undefined && (own?.block !== undefined || !endsTunnel)) for (const type of blockTypes) types.add(type);
    const addresses = this.#nodes.get(node);
    return {
      msg: "RouteUpdate",
      dst: text,
      types: TYPES.filter((type) => types.has(type)),
      ip_pool_type: poolType,
      dst_node_name: node,
      dst_node_ip: (cidr.family === 4 ? addresses?.ipv4 : addresses?.ipv6) ?? "",
      same_subnet: crossSubnet && this.#isInOwnSubnet(cidr.family, addresses),
      nat_outgoing: natOutgoing,
      local_workload: ref?.kind === "workload" && this.#isLocal(ref.node),
      tunnel_type: {
        ipip: tunnels.has("ipip"),
        vxlan: tunnels.has("vxlan"),
        wireguard: tunnels.has("wireguard"),
      },
      borrowed,
    };
  }

  #isLocal(node: string): boolean {
    return node === this.#hostname;
  }

  #isInOwnSubnet(family: 4 | 6, node: NodeAddresses | undefined): boolean {
    const own = this.#nodes.get(this.#hostname);
    const subnet = family === 4 ? own?.subnet4 : own?.subnet6;
    const address = parseAddress((family === 4 ? node?.ipv4 : node?.ipv6) ?? "");
    return subnet !== undefined && address !== undefined && containsAddress(subnet, address);
  }

  /** Replaces what one source says. */
  #claim(source: string, next: ReadonlyMap<string, Claim>): void {
    const old = this.#claims.get(source);
    for (const [key, claim] of next) if (!sameValue(old?.get(key), claim)) this.#apply(claim, 1);
    for (const [key, claim] of old ?? []) if (!sameValue(next.get(key), claim)) this.#apply(claim, -1);
    if (next.size === 0) this.#claims.delete(source);
    else this.#claims.set(source, next);
  }

  #apply({ cidr, node, kind }: Claim, change: 1 | -1): void {
    const info = this.#infoAt(cidr);
    const text = formatCidr(cidr);
    if (kind === "block") {
      info.changeBlock(node, change);
      // Whether what is inside is borrowed depends on it.
      this.#markInside(cidr);
    } else {
      if (kind === "host") info.changeHost(node, change);
      else info.changeRef(node, kind, change);
      this.#dirty.set(text, cidr);
    }
    const networks = this.#networksOfNode.get(node) ?? new Map<string, number>();
    const count = (networks.get(text) ?? 0) + change;
    if (count === 0) networks.delete(text);
    else networks.set(text, count);
    if (networks.size === 0) this.#networksOfNode.delete(node);
    else this.#networksOfNode.set(node, networks);
    this.#prune(info);
  }

  #infoAt(cidr: Cidr): RouteInfo {
    const trie = this.#trie(cidr);
    let info = trie.get(cidr);
    if (info === undefined) trie.set(cidr, (info = new RouteInfo(cidr)));
    return info;
  }

  #prune(info: RouteInfo): void {
    if (info.isEmpty) this.#trie(info.cidr).delete(info.cidr);
  }

  #trie(cidr: Cidr): CidrTrie<RouteInfo> {
    return cidr.family === 4 ? this.#trie4 : this.#trie6;
  }

  #markInside(cidr: Cidr): void {
    for (const [inner] of this.#trie(cidr).descendants(cidr)) this.#dirty.set(formatCidr(inner), inner);
  }

  #markText(text: string): void {
    const cidr = parseCidr(text);
    if (cidr === undefined) return;
    this.#dirty.set(text, cidr);
    // A block's node is also that of addresses inside of which nothing more is known.
    this.#markInside(cidr);
  }

  #markAll(): void {
    for (const trie of [this.#trie4, this.#trie6])
      for (const [cidr] of trie.entries()) this.#dirty.set(formatCidr(cidr), cidr);
  }
}
