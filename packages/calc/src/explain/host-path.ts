import { assert } from "@bulrush/base";
import { formatAddress } from "@bulrush/ip";
import type { DataplaneHostEndpoint } from "@bulrush/proto";
import type { Decision, HostVerdict } from "./flow.ts";
import { findHostEndpoint, type FoundEndpoint, wildcardEndpoint } from "./host-endpoints.ts";
import { type Direction, type JudgedLists, judgeList } from "./judge-list.ts";
import type { MatchContext } from "./match-rule.ts";
import { type FailsafePorts, failsafeWord } from "./failsafe.ts";
import type { Packet, ResolvedEnd, ResolvedFlow } from "./packet.ts";
import { whatIfs } from "./what-if.ts";

export interface HostPath {
  readonly verdicts: readonly HostVerdict[];
  readonly notes: readonly string[];
  /**
   * What host endpoints would say with staged policies enforced; absent where none is staged on the way. It is not the sum
   * of the stages: one that decides then ends what follows, and one that no longer decides does not.
   */
  readonly staged?: Decision["verdict"];
}

/** As in ExplainDetails. */
interface HostOptions {
  readonly failsafe: FailsafePorts;
  readonly whatIf?: boolean;
  readonly replacedByStaged?: ReadonlySet<string>;
}

/**
 * The host endpoints on the way of a flow. Nobody can know here which interface a packet takes: the endpoint that has
 * the host's address, stands for all interfaces, or is the only one is taken to be it, and a note says so.
 *
 * ```
 *   source host (a packet that leaves it)          destination host (a packet that comes to it)
 *   its own:       untracked -> normal             untracked -> pre-dnat -> normal   for the host itself
 *   a workload's:  (workload egress) -> forward    untracked -> pre-dnat -> forward -> (workload ingress)
 * ```
 * An allow by an untracked or pre-dnat policy ends what host endpoints have to say of that way in or out. The endpoint
 * of all interfaces stands for those of workloads too: what a workload sends meets its pre-dnat and, beyond the host
 * itself, its forward ingress policy; what a workload gets meets its forward egress policy, unless the host itself sends
 * it. Between ends on one host no other interface of a host endpoint is passed.
 */
export function judgeHosts(
  context: MatchContext,
  { packet, source, destination }: ResolvedFlow,
  options: HostOptions,
): HostPath {
  const verdicts: HostVerdict[] = [];
  const notes: string[] = [];
  const from = hostOf(source);
  const to = hostOf(destination);
  const isLocal = from !== undefined && from === to;
  const enforced = { hasStaged: false, isDenied: false };
  const judge = (found: FoundEndpoint, direction: Direction, stages: readonly HostVerdict["stage"][]): void => {
    const all: HostVerdict[] = [];
    for (const stage of stages) {
      const verdict = judgeStage(context, found, direction, stage, options);
      if (verdict !== undefined) all.push(verdict);
      // What comes after counts only where staged policies may leave the packet to it.
      if (options.whatIf !== true && verdict !== undefined && verdict.verdict !== "none") break;
    }
    const isJudged = all.length > 0;
    verdicts.push(...untilDecided(all, ({ verdict }) => verdict));
    enforced.hasStaged ||= all.some(({ staged }) => staged !== undefined);
    const then = untilDecided(all, verdictThen).at(-1);
    enforced.isDenied ||= then !== undefined && verdictThen(then) === "deny";
    if (isJudged && found.assumed !== undefined) notes.push(found.assumed);
  };
  const judgeHost = (host: string, end: ResolvedEnd, direction: Direction): void => {
    const found = findHostEndpoint(context.state, host, end);
    if (found !== undefined)
      judge(found, direction, stagesOf(direction, end.workload !== undefined, found.endpoint.name === "*"));
  };
  const judgeWorkload = (host: string, direction: Direction, stages: readonly HostVerdict["stage"][]): void => {
    const found = wildcardEndpoint(context.state, host);
    if (found !== undefined) judge(found, direction, stages);
  };
  if (isLocal) notes.push(...sameHostNotes(from, source, destination));
  if (from !== undefined && source.workload !== undefined)
    judgeWorkload(
      from,
      "ingress",
      isLocal && destination.workload === undefined ? ["pre-dnat"] : ["pre-dnat", "forward"],
    );
  if (from !== undefined && !isLocal) judgeHost(from, source, "egress");
  if (to !== undefined && !isLocal) judgeHost(to, destination, "ingress");
  if (to !== undefined && destination.workload !== undefined && !(isLocal && source.workload === undefined))
    judgeWorkload(to, "egress", ["forward"]);
  const leavesForHost = !isLocal && source.workload !== undefined && destination.workload === undefined;
  if (leavesForHost && to !== undefined && verdicts.length > 0)
    notes.push(`${addressText(packet)} is judged as ${to} sees it: with the address that the packet has there`);
  return { verdicts, notes, ...(enforced.hasStaged && { staged: enforced.isDenied ? "deny" : "allow" }) };
}

/** The stages up to the first that does not leave the packet to the next. */
function untilDecided(
  all: readonly HostVerdict[],
  verdictOf: (stage: HostVerdict) => HostVerdict["verdict"],
): readonly HostVerdict[] {
  const end = all.findIndex((stage) => verdictOf(stage) !== "none");
  return end < 0 ? all : all.slice(0, end + 1);
}

function verdictThen({ verdict, staged }: HostVerdict): HostVerdict["verdict"] {
  return staged?.verdict ?? verdict;
}

/** What passes through a host on its way out has met its raw table, if any, as it came in. */
function stagesOf(direction: Direction, passes: boolean, isWildcard: boolean): readonly HostVerdict["stage"][] {
  if (passes && direction === "egress") return ["forward"];
  const last = passes ? "forward" : "normal";
  // Do-not-track policy is not for the endpoint of all interfaces: it would judge packets of workloads.
  const untracked = isWildcard ? [] : (["untracked"] as const);
  return direction === "ingress" ? [...untracked, "pre-dnat", last] : [...untracked, last];
}

function addressText(packet: Packet): string {
  return packet.source === undefined ? "the source" : formatAddress(packet.source);
}

function hostOf(end: ResolvedEnd): string | undefined {
  return end.workload?.id.hostname ?? end.host?.name;
}

function sameHostNotes(host: string, source: ResolvedEnd, destination: ResolvedEnd): string[] {
  if (source.workload === undefined && destination.workload !== undefined)
    return [`${host} reaches its own workloads whatever their policy says`];
  if (source.workload !== undefined && destination.workload === undefined)
    return [
      `from a workload to its own host, the setting DefaultEndpointToHostAction decides after the workload's egress policy (Drop where it is not set)`,
    ];
  return [];
}

/** Undefined where the endpoint has nothing to say at this stage. */
function judgeStage(
  context: MatchContext,
  { id, endpoint }: FoundEndpoint,
  direction: Direction,
  stage: HostVerdict["stage"],
  { failsafe, whatIf, replacedByStaged }: HostOptions,
): HostVerdict | undefined {
  const lists = listsOf(endpoint, direction, stage);
  const hasPolicy = lists.tiers.some((tier) => tier[`${direction}_policies`].length > 0);
  if (stage !== "normal" && !hasPolicy) return undefined;
  const base = { endpoint: id, direction, stage };
  const open = failsafeWord(context.packet, direction, stage, failsafe);
  if (open !== undefined) {
    const why = `${open}: it stays open whatever policy says`;
    // Of the stages before the last, a failsafe port ends this one alone.
    const verdict = stage === "normal" ? "allow" : "none";
    const step = { tier: "", policy: "", rule: null, outcome: "ended", action: verdict, why } as const;
    return { ...base, verdict, tier: "", policy: "", rule: null, why, steps: [step] };
  }
  const judged = judgeList(context, lists);
  return { ...base, ...judged, ...(whatIf === true && whatIfs(context, lists, judged, replacedByStaged)) };
}

function listsOf(endpoint: DataplaneHostEndpoint, direction: Direction, stage: HostVerdict["stage"]): JudgedLists {
  switch (stage) {
    case "untracked":
      return { direction, tiers: endpoint.untracked_tiers, profiles: [], ends: "none" };
    case "pre-dnat":
      assert(direction === "ingress", "nothing leaves before DNAT");
      return { direction, tiers: endpoint.pre_dnat_tiers, profiles: [], ends: "none" };
    case "normal":
      return { direction, tiers: endpoint.tiers, profiles: endpoint.profile_ids, ends: "all" };
    case "forward":
      return { direction, tiers: endpoint.forward_tiers, profiles: [], ends: "tiers" };
  }
}
