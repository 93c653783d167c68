import { SYNCER_TYPES } from "@bulrush/proto";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import type { OptionSpec } from "../cli/option.ts";
import { usageError } from "../errors.ts";
import { outputFormat, outputOption, printItems } from "../output/format.ts";
import { printRows } from "../store/print-table.ts";
import { ADMIN_OPTIONS, adminClients } from "./admin-client.ts";
import { type FleetClient, fleetClients } from "./fleet-clients.ts";

const FORMATS = ["text", "json", "ndjson", "yaml"] as const;

export const SYNCER_OPTION: OptionSpec = {
  name: "syncer",
  value: "TYPE",
  doc: `Only this stream: ${SYNCER_TYPES.join(", ")}.`,
};

/** bulrushctl clients */
export const clients: Command = {
  name: "clients",
  summary: "Show who is connected to Typha, and where each client stands",
  usage: ["clients [--admin URL]... [--syncer TYPE] [-o FORMAT]"],
  description: [
    "Lists the streams of one or more Typhas by node: program, since when, what the stream began with (deltas: it went on; buckets: what differed; snapshot: everything), the sequence that the client has been sent and the one that it reported as in force, and how far behind it is. A node name that two live clients use is marked with an exclamation mark.",
  ],
  options: [...ADMIN_OPTIONS, SYNCER_OPTION, outputOption(FORMATS, "text")],
  examples: [
    { what: "on the host or in the pod of a Typha", line: "bulrushctl clients" },
    {
      what: "two Typhas by port-forward, as data",
      line: "bulrushctl clients --admin http://localhost:9097 --admin http://localhost:9197 -o json",
    },
  ],
  run: runClients,
};

async function runClients(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const found = await fleetClients(await adminClients(args, io), syncerOf(args));
  const sorted = found.toSorted((a, b) => textOrder(keyOf(a), keyOf(b)));
  if (format !== "text") {
    await printItems(io.out, format, sorted);
    return 0;
  }
  const titles = ["NODE", "SYNCER", "TYPHA", "PROGRAM", "SINCE", "BEGUN WITH", "SENT", "IN FORCE", "LAG", "SENT BYTES"];
  await printRows(io.out, titles, sorted.map(rowOf));
  return 0;
}

/** The stream asked for. Throws CTL_USAGE for one that there is not. */
export function syncerOf(args: Arguments): string | undefined {
  const syncer = args.get("syncer");
  if (syncer !== undefined && !SYNCER_TYPES.some((type) => type === syncer))
    throw usageError(`--syncer ${syncer} is not one of ${SYNCER_TYPES.join(", ")}`);
  return syncer;
}

function rowOf(client: FleetClient): readonly string[] {
  return [
    `${client.hostname}${client.duplicate ? "!" : ""}`,
    client.syncer,
    client.typha,
    client.info,
    client.connectedAt,
    client.inSnapshot ? "(snapshot under way)" : (client.begunWith ?? "-"),
    String(client.sentSequence),
    client.appliedSequence === null ? "-" : String(client.appliedSequence),
    `${client.lagMs} ms`,
    String(client.bytesSent),
  ];
}

function keyOf({ hostname, syncer, typha }: FleetClient): string {
  return `${hostname}\n${syncer}\n${typha}`;
}

function textOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
