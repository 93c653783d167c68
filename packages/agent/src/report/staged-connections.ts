import { CalcError, type DataplaneState, explainFlow, type Flow, type FlowVerdict, type Outcome } from "@bulrush/calc";
import type { StagedChange, StagedConnections, TrackedFlow } from "@bulrush/dataplane";

/** Connections that differ in more than their source port. */
const MAX_JUDGED = 10_000;
/** Judged at a time: some milliseconds. */
const SLICE = 100;

/**
 * Judges what connection tracking has at pods of this host by what the host was told, without and with its staged
 * policies. `breathe` is waited for between slices. Connections of other ends have nothing to be judged by, and count as
 * unchanged.
 */
export async function stagedConnections(
  state: DataplaneState,
  tracked: Iterable<TrackedFlow>,
  breathe: () => Promise<void>,
): Promise<StagedConnections> {
  const podOf = new Map<string, string>();
  for (const { id, endpoint } of state.workloadEndpoints.values())
    for (const net of [...endpoint.ipv4_nets, ...endpoint.ipv6_nets]) podOf.set(net.split("/")[0] ?? "", id.workload);
  const seen = new Set<string>();
  const changes: StagedChange[] = [];
  let left = 0;
  for (const { original, protocol, reply } of tracked) {
    // As the receiver has it: what answers is the backend, whatever was called.
    const [from, to, port] = [original.source, reply.source, reply.sourcePort];
    if (!podOf.has(from) && !podOf.has(to)) continue;
    const key = `${from} ${to} ${protocol} ${port ?? ""}`;
    if (seen.has(key)) continue;
    if (seen.size >= MAX_JUDGED) {
      left++;
      continue;
    }
    seen.add(key);
    const verdict = judge(state, {
      source: { address: from },
      destination: { address: to },
      protocol,
      ...(port !== undefined && { port }),
    });
    if (verdict?.staged !== undefined && verdict.staged !== verdict.verdict) {
      const [fromPod, toPod] = [podOf.get(from), podOf.get(to)];
      changes.push({
        from,
        to,
        protocol,
        ...(port !== undefined && { port }),
        ...(fromPod !== undefined && { fromPod }),
        ...(toPod !== undefined && { toPod }),
        now: verdict.verdict,
        staged: verdict.staged,
        by: deciderOf(verdict),
      });
    }
    if (seen.size % SLICE === 0) await breathe();
  }
  return { judged: seen.size, left, changes };
}

/** Undefined for what is no flow to policy: an ICMP message without a type, addresses of two families. */
function judge(state: DataplaneState, flow: Flow): FlowVerdict | undefined {
  try {
    return explainFlow(state, flow, { whatIf: true });
  } catch (error) {
    if (error instanceof CalcError) return undefined;
    throw error;
  }
}

function deciderOf({ egress, ingress, staged }: FlowVerdict): string {
  const sides = [egress?.staged, ingress?.staged].filter((side): side is Outcome => side?.verdict === staged);
  const [side] = sides;
  if (side === undefined) return "";
  const rule = side.rule === null ? "" : `, rule ${side.rule}`;
  if (side.policy !== "") return `${side.policy}${rule}`;
  return side.tier === "" ? side.why : `the end of tier ${side.tier}`;
}
