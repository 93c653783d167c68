import { printable } from "@bulrush/base";
import type { DriftItem, DriftReport } from "@bulrush/dataplane";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";
import { printRows } from "../store/print-table.ts";
import { askAgent, SOCKET_OPTION } from "./agent-client.ts";

const FORMATS = ["text", "json", "yaml"] as const;

/** bulrushctl drift */
export const drift: Command = {
  name: "drift",
  summary: "Show what this host's kernel has other than meant, and what was repaired lately",
  usage: ["drift [--socket PATH] [-o FORMAT]"],
  description: [
    "Asks the agent of this host to read back its nf_tables, routes and neighbours and to compare them with what policy asks for. Nothing is repaired by asking: the agent does that by itself, as soon as the kernel tells of a change, and at its refresh intervals.",
    "Then the last repairs: when, who had changed nf_tables (where the kernel says so), and what.",
  ],
  options: [SOCKET_OPTION, outputOption(FORMATS, "text")],
  examples: [
    { what: "is somebody else at work on our rules?", line: "bulrushctl drift" },
    { what: "as data", line: "bulrushctl drift -o json" },
  ],
  run: runDrift,
};

async function runDrift(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const report = await askAgent<DriftReport>(args, "/api/v1/drift");
  if (format === "text") await printReport(report, io);
  else await printValue(io.out, format, report);
  return 0;
}

async function printReport(report: DriftReport, { out }: CommandIo): Promise<void> {
  for (const problem of report.problems) await out.write(`Not read: ${printable(problem)}\n`);
  if (!report.ready) await out.write("The agent has not written its first state yet.\n");
  else if (report.differences.length === 0 && report.problems.length === 0)
    await out.write("The kernel has what is meant.\n");
  else if (report.differences.length > 0) {
    await out.write(report.pending ? "Differences (changes are on their way):\n" : "Differences:\n");
    await printRows(out, ["KIND", "NAME", "WHAT", "DETAIL"], report.differences.map(rowOf));
    if (report.more > 0) await out.write(`... and ${report.more} more\n`);
  }
  if (report.repairs.length === 0) {
    await out.write("Nothing was repaired lately.\n");
    return;
  }
  await out.write("Repaired lately:\n");
  const rows = report.repairs.flatMap(({ atMs, by, items, more }) => {
    const start = [new Date(atMs).toISOString(), by === "" ? "-" : by];
    const rest = more === 0 ? [] : [[...start, "", `... and ${more} more`, "", ""]];
    return [...items.map((item) => [...start, ...rowOf(item)]), ...rest];
  });
  await printRows(out, ["WHEN", "CHANGED BY", "KIND", "NAME", "WHAT", "DETAIL"], rows);
}

function rowOf({ detail, kind, name, what }: DriftItem): readonly string[] {
  return [kind, name, what, detail];
}
