import type { LoadPlan } from "./load-plan.ts";
import { addCounts, addJudged, NO_JUDGED } from "./judged-client.ts";
import { LatencyHistogram, type Percentiles } from "./latency-histogram.ts";
import { BAD_WAYS } from "./load-plan.ts";
import type { JudgedFigures, LoadReport } from "./load-record.ts";

/** What `--json` prints. */
export interface LoadFigures {
  readonly seconds: number;
  readonly clients: number;
  readonly inSync: number;
  /** Milliseconds from the server seeing a change to a client having it. */
  readonly latencyMs: Percentiles;
  /** Milliseconds from the dial to in-sync. */
  readonly connectMs: Percentiles;
  readonly messages: number;
  readonly kvs: number;
  readonly bytes: number;
  readonly dials: number;
  readonly gaps: number;
  readonly endings: Readonly<Record<string, number>>;
  readonly bad: LoadReport["badEndings"];
  /** `state` is a digest of what they all hold, or null where that differs. */
  readonly judged: Omit<JudgedFigures, "states"> & { readonly differentStates: number; readonly state: string | null };
  readonly processes: readonly { readonly cpuMs: number; readonly rssMB: number }[];
  /** What is not as it should be, in words; empty: all is well. */
  readonly problems: readonly string[];
}

/** Adds up what the processes report. */
export function figuresOf(plan: LoadPlan, reports: readonly LoadReport[], elapsedMs: number): LoadFigures {
  const latency = new LatencyHistogram();
  const connect = new LatencyHistogram();
  for (const report of reports) {
    latency.add(report.latency);
    connect.add(report.connect);
  }
  const sum = (pick: (report: LoadReport) => number): number => reports.reduce((total, r) => total + pick(r), 0);
  const { states, ...judged } = reports.reduce((total, report) => addJudged(total, report.judged), NO_JUDGED);
  const digests = Object.keys(states);
  const counts = {
    clients: plan.light,
    inSync: sum((report) => report.inSync),
    gaps: sum((report) => report.gaps),
    judged: { ...judged, differentStates: digests.length, state: digests.length === 1 ? (digests[0] ?? null) : null },
  };
  return {
    seconds: Math.round(elapsedMs / 100) / 10,
    ...counts,
    latencyMs: latency.percentiles(),
    connectMs: connect.percentiles(),
    messages: sum((report) => report.messages),
    kvs: sum((report) => report.kvs),
    bytes: sum((report) => report.bytes),
    dials: sum((report) => report.dials),
    endings: reports.reduce((total, report) => addCounts(total, report.endings), {}),
    bad: Object.fromEntries(
      BAD_WAYS.filter((way) => plan.bad[way] > 0).map((way) => [
        way,
        reports.reduce((total, { badEndings }) => addCounts(total, badEndings[way] ?? {}), {}),
      ]),
    ),
    processes: reports.map(({ cpuMs, rssMB }) => ({ cpuMs: Math.round(cpuMs), rssMB: Math.round(rssMB) })),
    problems: problemsOf(counts),
  };
}

function problemsOf({
  clients,
  inSync,
  gaps,
  judged,
}: Pick<LoadFigures, "clients" | "inSync" | "gaps" | "judged">): string[] {
  return [
    ...(inSync < clients ? [`${clients - inSync} of ${clients} clients are not in sync`] : []),
    ...(judged.inSync < judged.clients
      ? [`${judged.clients - judged.inSync} of ${judged.clients} judged clients are not in sync`]
      : []),
    ...(gaps > 0 ? [`${gaps} deltas did not follow what their client had`] : []),
    ...(judged.flaps > 0 ? [`${judged.flaps} keys were deleted and came back with the same contents`] : []),
    ...(judged.differentStates > 1 ? [`The judged clients have ${judged.differentStates} different states`] : []),
  ];
}

/** The same for people. */
export function formatFigures(figures: LoadFigures): string {
  const { clients, inSync, latencyMs, connectMs, judged } = figures;
  const times = ({ count, p50, p90, p99, max }: Percentiles): string =>
    count === 0 ? "nothing to measure" : `p50 ${p50}, p90 ${p90}, p99 ${p99}, most ${max} ms (${count} times)`;
  const counts = (of: Readonly<Record<string, number>>): string =>
    Object.entries(of)
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ") || "none";
  const lines: (readonly [string, string])[] = [
    ["clients in sync", `${inSync} of ${clients}, after ${figures.dials} dials`],
    ["change to client", times(latencyMs)],
    ["dial to in-sync", times(connectMs)],
    ["received", `${figures.messages} messages, ${figures.kvs} keys, ${(figures.bytes / 1e6).toFixed(1)} MB`],
    ["connections ended", counts(figures.endings)],
    ...Object.entries(figures.bad).map(([way, endings]) => [`${way} ended`, counts(endings)] as const),
    ...(judged.clients === 0
      ? []
      : ([
          ["judged in sync", `${judged.inSync} of ${judged.clients}, ${judged.differentStates} different states`],
          ["judged were told", `${judged.updates} updates, ${judged.deletes} of them deletes, ${judged.flaps} wrong`],
          [
            "judged began with",
            `${judged.snapshots} snapshots, ${judged.bucketResumes} parts, ${judged.resumes} deltas; ${judged.moves} moves`,
          ],
        ] as const)),
    ["own processes", figures.processes.map(({ cpuMs, rssMB }) => `${cpuMs} ms CPU, ${rssMB} MB`).join("; ")],
    ["problems", figures.problems.join("; ") || "none"],
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, text]) => `${name.padEnd(width)}  ${text}\n`).join("");
}
