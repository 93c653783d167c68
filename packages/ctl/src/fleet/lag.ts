import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { usageError } from "../errors.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";
import { printRows } from "../store/print-table.ts";
import { ADMIN_OPTIONS, adminClients } from "./admin-client.ts";
import { SYNCER_OPTION, syncerOf } from "./clients.ts";
import { fleetCaches, type FleetClient, fleetClients } from "./fleet-clients.ts";

const FORMATS = ["text", "json", "yaml"] as const;

/** bulrushctl lag */
export const lag: Command = {
  name: "lag",
  summary: "Show how long changes take to be in force, and who is behind",
  usage: ["lag [--admin URL]... [--syncer TYPE] [--over MS] [-o FORMAT]"],
  description: [
    "Shows for each Typha and stream how long the newest changes took from the datastore to being in force at the clients (median, 90th, 99th percentile, longest), and then the clients that are behind, the furthest first: by how many sequences that are not in force there, and how old the oldest change is that the client's socket does not have.",
    "With --over: exit 1 if a client lags by more.",
  ],
  options: [
    ...ADMIN_OPTIONS,
    SYNCER_OPTION,
    { name: "over", value: "MS", doc: "Exit 1 if a client lags by more than so many milliseconds." },
    outputOption(FORMATS, "text"),
  ],
  examples: [
    { what: "who is behind?", line: "bulrushctl lag" },
    {
      what: "in a probe: is anybody more than ten seconds behind?",
      line: "bulrushctl lag --syncer felix --over 10000",
    },
  ],
  run: runLag,
};

async function runLag(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const over = overOf(args);
  const syncer = syncerOf(args);
  const admins = await adminClients(args, io);
  const [found, caches] = await Promise.all([fleetClients(admins, syncer), fleetCaches(admins)]);
  const propagation = caches
    .filter(({ cache }) => syncer === undefined || cache.syncer === syncer)
    .map(({ typha, cache }) => ({ typha, syncer: cache.syncer, ...cache.propagation }));
  const behind = found.filter(isBehind).toSorted((a, b) => b.lagMs - a.lagMs || (b.behind ?? 0) - (a.behind ?? 0));
  if (format !== "text") await printValue(io.out, format, { propagation, clients: found.length, behind });
  else {
    const ms = (value: number | null): string => (value === null ? "-" : `${value} ms`);
    const rows = propagation.map((row) => [
      row.typha,
      row.syncer,
      ...[row.p50Ms, row.p90Ms, row.p99Ms, row.maxMs].map(ms),
      String(row.samples),
    ]);
    await printRows(io.out, ["TYPHA", "SYNCER", "P50", "P90", "P99", "LONGEST", "OF"], rows);
    await io.out.write(`\n${behind.length} of ${found.length} clients are behind\n`);
    if (behind.length > 0) await printRows(io.out, ["NODE", "SYNCER", "TYPHA", "BEHIND BY", "LAG"], behind.map(rowOf));
  }
  return over !== undefined && found.some(({ lagMs }) => lagMs > over) ? 1 : 0;
}

function isBehind({ behind, lagMs }: FleetClient): boolean {
  return lagMs > 0 || (behind !== null && behind > 0);
}

function rowOf({ hostname, syncer, typha, behind, lagMs }: FleetClient): readonly string[] {
  return [hostname, syncer, typha, behind === null ? "?" : String(behind), `${lagMs} ms`];
}

function overOf(args: Arguments): number | undefined {
  const text = args.get("over");
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw usageError(`--over ${text} is not a number of milliseconds`);
  return Number(text);
}
