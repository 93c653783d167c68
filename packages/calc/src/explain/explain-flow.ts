import { assert } from "@bulrush/base";
import { formatAddress } from "@bulrush/ip";
import type { IpSetDescription } from "../graph/calc-graph.ts";
import type { DataplaneState, StateWorkload } from "../state/dataplane-state.ts";
import type { Decision, Flow, FlowVerdict, SideVerdict } from "./flow.ts";
import type { FailsafePorts } from "./failsafe.ts";
import { type HostPath, judgeHosts } from "./host-path.ts";
import { type Direction, type JudgedLists, judgeList } from "./judge-list.ts";
import type { MatchContext } from "./match-rule.ts";
import { type Packet, resolveFlow } from "./packet.ts";
import { whatIfs } from "./what-if.ts";

/** What is known beside the messages, for a fuller answer. Each part may be left out. */
export interface ExplainDetails {
  /** Names the IP sets in the explanation: `(id) => graph.describeIpSet(id)`. */
  readonly describeIpSet?: (id: string) => IpSetDescription | undefined;
  /** Says which terms of a selector keep an address out of its set, or bring it in. */
  readonly describeMember?: MatchContext["describeMember"];
  /** Says why policies do not apply to an endpoint (by the id of its message), in one direction. */
  readonly unselected?: (endpoint: StateWorkload, direction: Direction) => SideVerdict["unselected"];
  /** Adds to each side what would decide next, and what would with staged policies enforced. Default: false. */
  readonly whatIf?: boolean;
  /** Ids of the policies (`kind/namespace/name`) that give way when the staged ones are enforced. Default: none. */
  readonly replacedByStaged?: ReadonlySet<string>;
  /** Judges host endpoints on the way as well, behind these ports that are always open. Default: they are left out. */
  readonly hosts?: FailsafePorts;
}

/**
 * Judges the first packet of a flow by the messages in `state`, which are the very ones that a dataplane renders: of a
 * graph with host name "*" for all hosts. The source's egress policies and the destination's ingress policies judge;
 * an end that is no known endpoint judges nothing (and a host always reaches its own workloads, which is outside of
 * this: a note says so). A workload always reaches itself.
 *
 * Throws a CalcError when the flow is not one or names an endpoint that is not there.
 */
export function explainFlow(state: DataplaneState, flow: Flow, details: ExplainDetails = {}): FlowVerdict {
  const resolved = resolveFlow(state, flow);
  const { packet, source, destination } = resolved;
  const { describeIpSet, describeMember } = details;
  const context: MatchContext = { state, packet, describeIpSet, describeMember };
  const isToItself = source.workload !== undefined && source.workload === destination.workload;
  const judge = isToItself ? toItself : judgeWorkload;
  const egress = source.workload && judge(context, source.workload, "egress", details);
  const ingress = destination.workload && judge(context, destination.workload, "ingress", details);
  const path: HostPath =
    details.hosts === undefined
      ? { verdicts: [], notes: [] }
      : judgeHosts(context, resolved, { ...details, failsafe: details.hosts });
  const { verdicts: hosts, notes } = path;
  const workloads = [egress, ingress].filter((side) => side !== undefined);
  const verdicts = [...workloads, ...hosts].map(({ verdict }) => verdict);
  const allNotes = [...serviceNotes(state, packet), ...notes];
  return {
    verdict: overall(verdicts),
    ipVersion: packet.ipVersion,
    ...(egress && { egress }),
    ...(ingress && { ingress }),
    ...(hosts.length > 0 && { hosts }),
    ...(allNotes.length > 0 && { notes: allNotes }),
    ...((path.staged !== undefined || workloads.some(({ staged }) => staged !== undefined)) && {
      staged: overall([
        ...workloads.map(({ verdict, staged }) => staged?.verdict ?? verdict),
        path.staged ?? overall(hosts.map(({ verdict }) => verdict)),
      ]),
    }),
  };
}

const TO_ITSELF = "what a workload sends to itself, also by a service, is let through, whatever policy says";

function overall(verdicts: readonly (Decision["verdict"] | "none")[]): "allow" | "deny" {
  return verdicts.includes("deny") ? "deny" : "allow";
}

/** As {@link judgeWorkload}, which this is where nothing passes at all. */
function toItself(
  context: MatchContext,
  workload: StateWorkload,
  direction: Direction,
  details: ExplainDetails,
): SideVerdict {
  const address = direction === "egress" ? context.packet.source : context.packet.destination;
  if (workload.endpoint.state !== "active" || address === undefined)
    return judgeWorkload(context, workload, direction, details);
  const decision: Decision = { verdict: "allow", tier: "", policy: "", rule: null, why: TO_ITSELF };
  return {
    ...decision,
    steps: [{ tier: "", policy: "", rule: null, outcome: "ended", action: "allow", why: TO_ITSELF }],
  };
}

function judgeWorkload(
  context: MatchContext,
  workload: StateWorkload,
  direction: Direction,
  details: ExplainDetails,
): SideVerdict {
  const { endpoint } = workload;
  const { packet } = context;
  const address = direction === "egress" ? packet.source : packet.destination;
  if (endpoint.state !== "active" || address === undefined) {
    const why =
      endpoint.state === "active"
        ? `the endpoint has no IPv${packet.ipVersion} address`
        : `the endpoint is ${endpoint.state}, so nothing passes`;
    const decision: Decision = { verdict: "deny", tier: "", policy: "", rule: null, why };
    return { ...decision, steps: [{ tier: "", policy: "", rule: null, outcome: "ended", action: "deny", why }] };
  }
  const lists: JudgedLists = { direction, tiers: endpoint.tiers, profiles: endpoint.profile_ids, ends: "all" };
  const judged = judgeList(context, lists);
  assert(judged.verdict !== "none", "profiles end in a decision");
  const unselected = details.unselected?.(workload, direction) ?? [];
  return {
    ...judged,
    verdict: judged.verdict,
    ...(details.whatIf === true && whatIfs(context, lists, judged, details.replacedByStaged)),
    ...(unselected.length > 0 && { unselected }),
  };
}

/** Policy for workloads sees the backend, not the address that stands for all of them. */
function serviceNotes(state: DataplaneState, packet: Packet): string[] {
  if (packet.destination === undefined || state.services.size === 0) return [];
  const text = formatAddress(packet.destination);
  for (const { namespace, name, ...service } of state.services.values())
    if (
      service.cluster_ips.includes(text) ||
      service.external_ips.includes(text) ||
      service.loadbalancer_ingress_ips.includes(text) ||
      service.loadbalancer_ip === text
    )
      return [
        `${text} is an address of service ${namespace}/${name}: policy sees the backend that is chosen for the connection`,
      ];
  return [];
}
