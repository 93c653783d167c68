import type { StagedConnections } from "@bulrush/dataplane";
import { PROTOCOL_NUMBERS } from "@bulrush/model";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";
import { printRows } from "../store/print-table.ts";
import { askAgent, SOCKET_OPTION } from "./agent-client.ts";

const FORMATS = ["text", "json", "yaml"] as const;

const NAME_OF: ReadonlyMap<number, string> = new Map([...PROTOCOL_NUMBERS].map(([name, number]) => [number, name]));

/** bulrushctl staged */
export const staged: Command = {
  name: "staged",
  summary: "Show which connections of this host's pods staged policies would end",
  usage: ["staged [--socket PATH] [-o FORMAT]"],
  description: [
    "Asks the agent of this host to judge the connections that its kernel tracks, at pods of this host: as policy is, and with the staged policies enforced. Prints those that would be judged otherwise, with what decides then. Connections that differ in their source port only are one; behind a service it is the backend that counts.",
    "It sees what is connected now, or was a moment ago, and what has come to this host: a policy that a staged one would delete, or would take off a pod, counts as it is. `diff --enforce-staged` knows of those, and says what could be.",
  ],
  options: [SOCKET_OPTION, outputOption(FORMATS, "text")],
  examples: [{ what: "whom would the staged policies cut off, on this host?", line: "bulrushctl staged" }],
  run: runStaged,
};

async function runStaged(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const report = await askAgent<StagedConnections>(args, "/api/v1/staged");
  if (format !== "text") {
    await printValue(io.out, format, report);
    return 0;
  }
  const { changes, judged, left } = report;
  if (changes.length > 0)
    await printRows(
      io.out,
      ["FROM", "TO", "PROTOCOL", "PORT", "NOW", "STAGED", "BY"],
      changes.map(({ by, from, fromPod, now, port, protocol, staged: then, to, toPod }) => [
        fromPod ?? from,
        toPod ?? to,
        NAME_OF.get(protocol) ?? String(protocol),
        port === undefined ? "-" : String(port),
        now,
        then,
        by,
      ]),
    );
  await io.out.write(`${changes.length} of ${judged} connections would change\n`);
  if (left > 0) await io.err.write(`${left} connections more were not looked at\n`);
  return 0;
}
