import { CidrTrie, parseAddress, parseCidr } from "@bulrush/ip";
import type { Flow } from "@bulrush/netlink";
import type { TableState } from "@bulrush/nftables";
import type { FlowAccess, RouteAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import { layered } from "../render/layer.ts";
import { HOOK_CHAIN } from "../render/hook-chain.ts";
import type { Family } from "../render/statements.ts";
import { PacketJudge } from "./judge-packet.ts";
import type { JudgedPacket } from "./judged-packet.ts";

/** enum ip_conntrack_status: IPS_EXPECTED, of a flow that another one has announced. */
const EXPECTED = 1;
/** IPS_SRC_NAT and IPS_DST_NAT. */
const TRANSLATED = 0x30;
/** IANA protocol number. */
const TCP = 6;

/** A flow that is to end. */
interface DeniedFlow {
  readonly flow: Flow;
  /** Its packets are to be refused for a while. Else it is only forgotten, as they are others' to judge. */
  readonly isRefused: boolean;
}

/** `forgotten`: by conntrack alone. `refused`: its packets too, for a while. */
type FlowEnd = "stays" | "forgotten" | "refused";

/** What a recheck needs to know. Nothing of it may change during the call. */
export interface RecheckInputs {
  readonly routes: Pick<RouteAccess, "routes">;
  readonly conntrack: Pick<FlowAccess, "deleteFlowsWhere">;
  readonly interfaces: Interfaces;
  /** The interface, a tunnel too, leads out of the host to machines that may send by another one of these as well. */
  readonly isUplink: (interfaceName: string) => boolean;
  readonly isWorkload: (interfaceName: string) => boolean;
  /** The rules that are in force, by family. */
  readonly tables: ReadonlyMap<Family, TableState>;
}

/**
 * Finds the flows that policy denies. Whatever is established is let through by every later packet, so a flow that was
 * made while somebody had taken the rules away would live for as long as it likes.
 *
 *     tracked flow ──> its first packet, as it would come now ──rules in force──> dropped: the flow is to end
 *                                                                              └> accepted, or not known: it stays
 *
 * A flow of an allowed connection is never among them, as its translated addresses would be lost with it. Flows that others
 * have announced (RELATED) stay, and those of other zones. Throws when flows or routes cannot be listed.
 */
export function findDeniedFlows(inputs: RecheckInputs): DeniedFlow[] {
  const judge = judgeOfFlows(inputs);
  const denied: DeniedFlow[] = [];
  // One by one as they are listed, so that a large table is never held in memory. Nothing is deleted here.
  inputs.conntrack.deleteFlowsWhere((flow) => {
    const end = judge(flow);
    if (end !== "stays") denied.push({ flow, isRefused: end === "refused" });
    return false;
  });
  return denied;
}

/** Judges single flows, for as long as nothing of the inputs changes. Throws when routes cannot be listed. */
export function judgeOfFlows(inputs: Omit<RecheckInputs, "conntrack">): (flow: Flow) => FlowEnd {
  const { interfaces, isUplink, isWorkload, routes, tables } = inputs;
  const uplinks = [...interfaces.all()].flatMap(({ name, up }) => (up && isUplink(name) ? [name] : []));
  const benches = new Map<Family, Bench>();
  for (const [family, table] of tables) {
    const ways = new Ways(routes, family, interfaces);
    benches.set(family, { ways, judge: new PacketJudge(table), uplinks, isWorkload });
  }
  return (flow) => {
    const bench = benches.get(flow.family);
    return bench === undefined ? "stays" : endOf(flow, bench);
  };
}

/** Removes exactly these from the kernel's table. Gives how many were still there. */
export function deleteFlows(denied: readonly DeniedFlow[], conntrack: RecheckInputs["conntrack"]): number {
  const keys = new Set(denied.map(({ flow }) => flowKey(flow)));
  return keys.size === 0 ? 0 : conntrack.deleteFlowsWhere((flow) => keys.has(flowKey(flow)));
}

function flowKey({ original, protocol, zone }: Flow): string {
  const { destination, destinationPort = "", source, sourcePort = "" } = original;
  return `${zone} ${protocol} ${source} ${sourcePort} ${destination} ${destinationPort}`;
}

/** What flows of one family are judged by. */
interface Bench {
  readonly ways: Ways;
  readonly judge: PacketJudge;
  readonly uplinks: readonly string[];
  readonly isWorkload: RecheckInputs["isWorkload"];
}

/**
 * What is denied is refused, unless the other side may start the same flow, and perhaps has: a flow that conntrack came
 * to know by an answer has the server's port as its source. Ports tell, as a client's is seldom the lower one. TCP then
 * stays; of all else the next packet of the side that may starts it anew.
 */
function endOf(flow: Flow, bench: Bench): FlowEnd {
  if (!isDenied(flow, bench)) return "stays";
  const { original, protocol, reply, status } = flow;
  const { destinationPort = 0, sourcePort = 0 } = original;
  if ((status & TRANSLATED) !== 0 || sourcePort > destinationPort) return "refused";
  if (isDenied({ ...flow, original: reply, reply: original }, bench)) return "refused";
  return protocol === TCP ? "stays" : "forgotten";
}

/**
 * Packets of others may come by another interface than the one that leads to them, and meet another host endpoint there:
 * a flow is denied when it is by each of them.
 */
function isDenied(flow: Flow, bench: Bench): boolean {
  if (flow.zone !== 0 || (flow.status & EXPECTED) !== 0) return false;
  const { ways, uplinks } = bench;
  const { original, reply } = flow;
  // The destination as it was translated; the source is translated behind all of our rules.
  const from = ways.to(original.source);
  const to = ways.to(reply.source);
  if (from === undefined || to === undefined || (from === LOCAL && to === LOCAL)) return false;
  const [starts = [], ends = []] = [from, to].map((name) => (uplinks.includes(name) ? uplinks : [name]));
  return starts.every((start) => ends.every((end) => isDeniedBetween(flow, start, end, bench)));
}

function isDeniedBetween(flow: Flow, from: string, to: string, { isWorkload, judge, ways }: Bench): boolean {
  const { original, reply } = flow;
  const packet: JudgedPacket = {
    family: flow.family,
    inInterface: from,
    outInterface: to,
    source: original.source,
    destination: reply.source,
    protocol: flow.protocol,
    sourcePort: original.sourcePort,
    destinationPort: reply.sourcePort,
    status: flow.status,
  };
  const sent: JudgedPacket = {
    ...packet,
    outInterface: LOCAL,
    destination: original.destination,
    destinationPort: original.destinationPort,
  };
  const filter = (hook: "input" | "forward" | "output"): readonly [string] => [layered("filter", HOOK_CHAIN[hook])];
  if (from === LOCAL) {
    // Do-not-track policy sees it on its way to where it was sent, which may be another one.
    const outInterface = original.destination === reply.source ? to : ways.to(original.destination);
    if (outInterface === undefined) return false;
    const output = [layered("raw", HOOK_CHAIN.output), { ...sent, outInterface }] as const;
    const postrouting = [layered("mangle", HOOK_CHAIN.postrouting), { ...packet, inInterface: LOCAL }] as const;
    return judge.judge(packet, [output, filter("output"), postrouting]) === "drop";
  }
  const prerouting = [layered("mangle", HOOK_CHAIN.prerouting), sent] as const;
  const rest = [prerouting, filter(to === LOCAL ? "input" : "forward")];
  // Do-not-track policy is of host endpoints. For workloads there are only routes to be asked, of which nothing is known.
  const chains = isWorkload(from) ? rest : [[layered("raw", HOOK_CHAIN.prerouting), sent] as const, ...rest];
  return judge.judge(packet, chains) === "drop";
}

/** This host itself, as the interface of a packet that comes from it or goes to it. */
const LOCAL = "";
/** linux/rtnetlink.h: RT_TABLE_LOCAL, what the kernel takes for its own, and asks ahead of the main one. */
const LOCAL_TABLE = 255;

/** Which interface leads to an address, by the tables local and main; rules of policy routing are not asked. */
class Ways {
  readonly #local = new CidrTrie<boolean>();
  readonly #main = new CidrTrie<{ readonly metric: number; readonly name: string | undefined }>();

  constructor(access: RecheckInputs["routes"], family: Family, interfaces: Interfaces) {
    for (const { destination, type } of access.routes({ family, table: LOCAL_TABLE })) {
      const cidr = parseCidr(destination);
      if (cidr !== undefined) this.#local.set(cidr, type === "local");
    }
    for (const { destination, device, metric = 0, type } of access.routes({ family })) {
      const cidr = parseCidr(destination);
      if (cidr === undefined) continue;
      const known = this.#main.get(cidr);
      if (known !== undefined && known.metric <= metric) continue;
      // A route without one device, or without any, says nothing of the interface.
      const isPlain = device !== undefined && (type === undefined || type === "unicast");
      this.#main.set(cidr, { metric, name: isPlain ? interfaces.byIndex(device)?.name : undefined });
    }
  }

  /** "" for this host's own addresses; `undefined` where it is not known. */
  to(text: string): string | undefined {
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    const own = this.#local.lookup(address)?.[1];
    if (own !== undefined) return own ? LOCAL : undefined;
    return this.#main.lookup(address)?.[1].name;
  }
}
