import { readdirSync, readFileSync } from "node:fs";
import type { ClusterWorld } from "./cluster-world.ts";
import { countKernelObjects, type KernelObjects } from "./kernel-objects.ts";
import type { RunningPod } from "./kubelet.ts";

/** One process at a moment at which nothing is to be done. */
export interface SoakRow extends Partial<KernelObjects> {
  readonly process: string;
  readonly residentMB: number;
  readonly descriptors: number;
  readonly threads: number;
  /** Of a Typha: open streams. */
  readonly streams?: number;
  /** Of a Typha: sequences that clients have not been handed, summed over them. */
  readonly queued?: number;
  /** Of a Typha: what is kept for clients that come back. */
  readonly retainedKB?: number;
}

interface ClientsAnswer {
  readonly clients: readonly { readonly serverSequence: number; readonly sentSequence: number }[];
}

interface CachesAnswer {
  readonly caches: readonly { readonly retained: { readonly bytes: number } }[];
}

function ofProcess({ name, process }: RunningPod): SoakRow {
  const directory = process.procDirectory ?? "";
  const status = readFileSync(`${directory}/status`, "utf8");
  const field = (label: string): number => Number(new RegExp(`^${label}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
  return {
    process: name,
    residentMB: Math.round(field("VmRSS") / 1024),
    descriptors: readdirSync(`${directory}/fd`).length,
    threads: field("Threads"),
  };
}

/** A row for each process. */
export async function soakSample(world: ClusterWorld): Promise<SoakRow[]> {
  const typhas = world.typhas.map(async (pod): Promise<SoakRow> => {
    const { clients } = (await world.askTypha(pod, "/api/v1/clients")) as ClientsAnswer;
    const { caches } = (await world.askTypha(pod, "/api/v1/caches")) as CachesAnswer;
    return {
      ...ofProcess(pod),
      streams: clients.length,
      queued: clients.reduce((sum, { serverSequence, sentSequence }) => sum + serverSequence - sentSequence, 0),
      retainedKB: Math.round(caches.reduce((sum, { retained }) => sum + retained.bytes, 0) / 1024),
    };
  });
  const agents = world.agents.map((pod): SoakRow => ({ ...ofProcess(pod), ...countKernelObjects(pod.node.network) }));
  return [...(await Promise.all(typhas)), ...agents];
}

const COLUMNS = [
  "process",
  "residentMB",
  "descriptors",
  "threads",
  "streams",
  "queued",
  "retainedKB",
  "chains",
  "rules",
  "sets",
  "elements",
  "routes",
  "neighbours",
] as const;

/** The rows below their titles, each with a label in front. */
export function soakTable(samples: readonly (readonly [label: string, rows: readonly SoakRow[]])[]): string {
  const lines = [
    ["at", ...COLUMNS],
    ...samples.flatMap(([label, rows]) =>
      rows.map((row) => [label, ...COLUMNS.map((column) => String(row[column] ?? "-"))]),
    ),
  ];
  const widths = lines[0]?.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((text, i) => text.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
