import { formatProblem, type KindReport } from "@bulrush/datastore";

/** A reason is cut to this many characters: the words are read in a table. */
const MAX_REASON = 240;

/**
 * What is amiss with the kinds of a source, in words for its readiness; "" when all is well. Kinds that are not in sync
 * come first, as they hold the rest up; kinds with the same trouble share a sentence. Then the stored things that cannot
 * be used as written.
 *
 *     NetworkPolicy is not in sync: List failed: ... 403 ... (DATASTORE_UNAUTHORIZED, since 2026-11-30T02:00:00Z); BGPPeer
 *     and BGPFilter: The server has no bgppeers ... (...); 2 of Tier cannot be used as written (since ...), the oldest: ...
 */
export function kindWords(reports: readonly KindReport[]): string {
  const groups = new Map<string, KindReport[]>();
  for (const report of reports.toSorted((a, b) => Number(a.status === "in-sync") - Number(b.status === "in-sync"))) {
    if (report.reason === undefined) continue;
    const id = `${report.status === "in-sync"} ${report.code ?? ""}`;
    groups.set(id, [...(groups.get(id) ?? []), report]);
  }
  return [...[...groups.values()].map(groupWords), ...reports.flatMap(unusableWords)].join("; ");
}

function groupWords(group: readonly KindReport[]): string {
  const kinds = group.map(({ kind }) => kind);
  const names = kinds.length === 1 ? kinds.join("") : `${kinds.slice(0, -1).join(", ")} and ${kinds.at(-1)}`;
  const isHeldUp = group[0]?.status !== "in-sync";
  const state = isHeldUp ? ` ${kinds.length === 1 ? "is" : "are"} not in sync` : "";
  const code = group[0]?.code;
  const sinceMs = Math.min(...group.flatMap((report) => report.sinceMs ?? []));
  const alike = kinds.length === 1 ? "" : ", and alike";
  const reason = (group[0]?.reason ?? "").slice(0, MAX_REASON);
  return `${names}${state}: ${reason}${alike} (${code === undefined ? "" : `${code}, `}since ${timeText(sinceMs)})`;
}

function unusableWords({ kind, unusable }: KindReport): readonly string[] {
  if (unusable === undefined) return [];
  const { items, sinceMs, oldest } = unusable;
  const first = formatProblem(oldest).slice(0, MAX_REASON);
  return [
    `${items} of ${kind} cannot be used as written (since ${timeText(sinceMs)})${items === 1 ? "" : ", the oldest"}: ${first}`,
  ];
}

/** To the second: `2026-11-30T02:00:00Z`. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
