import type { CalcMessage } from "@bulrush/calc";
import { createValidationFilter } from "@bulrush/model";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { usageError } from "../errors.ts";
import { parseStreamLine } from "../input/kv-line.ts";
import { readLines } from "../input/lines.ts";
import { FILE_OPTION, readManifestsAloud } from "../input/manifests.ts";
import { StreamedHost } from "../input/streamed-host.ts";
import { outputFormat, outputOption, printItems } from "../output/format.ts";

const FORMATS = ["ndjson", "json", "yaml"] as const;

/** bulrushctl calc -f PATH --hostname H */
export const calc: Command = {
  name: "calc",
  summary: "Show what the calculation graph sends to one host's dataplane",
  usage: ["calc -f PATH --hostname HOST [-o FORMAT]", "calc --stream --hostname HOST [-f PATH] [-o FORMAT]"],
  description: [
    "Runs the calculation graph of one host on the manifests and prints the messages that it sends to the dataplane once it is in sync, in the order sent: IP sets, then the policies and profiles that use them, then the endpoints that use those.",
    'With --stream, standard input has key-value pairs, one a line, as convert prints them: {"key": "/calico/v1/...", "value": ...}; a null value deletes; an array on one line is one batch. The graph is in sync at the end of the input, or at a line {"status": "in-sync"}; after that each line is flushed by itself, so that its messages follow at once. With -f as well, the manifests come first and the graph is in sync before the stream.',
    'The host name "*" makes every endpoint local, as explain sees it.',
  ],
  options: [
    FILE_OPTION,
    { name: "hostname", value: "HOST", doc: "The host whose view is computed: a Node's name." },
    { name: "stream", doc: "Read key-value pairs from standard input." },
    outputOption(FORMATS, "ndjson"),
  ],
  examples: [
    {
      what: "the policies that matter on a host",
      line: `bulrushctl calc -f cluster/ --hostname node-1 | jq 'select(.msg == "ActivePolicyUpdate")'`,
    },
    {
      what: "what changes on the host when a label does",
      line: `bulrushctl calc -f cluster/ --stream --hostname node-1 < changes.ndjson`,
    },
  ],
  run: runCalc,
};

async function runCalc(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "ndjson");
  const hostname = args.need("hostname");
  const path = args.get("file");
  if (args.has("stream")) {
    if (path === "-") throw usageError("-f - and --stream both want standard input");
  } else if (path === undefined) throw usageError("-f PATH or --stream is needed");
  const counts = { bad: 0 };
  await printItems(io.out, format, messages({ hostname, path, stream: args.has("stream") }, io, counts));
  return counts.bad > 0 ? 1 : 0;
}

interface Source {
  readonly hostname: string;
  readonly path: string | undefined;
  readonly stream: boolean;
}

/**
 * The graph's messages, made as they are asked for: a long stream does not pile up. What is bad is named on standard
 * error, counted, and disturbs nothing else.
 */
async function* messages(source: Source, io: CommandIo, counts: { bad: number }): AsyncGenerator<CalcMessage> {
  const { hostname, path } = source;
  const host = new StreamedHost(hostname);
  if (path !== undefined) {
    host.onUpdates((await readManifestsAloud(path, io)).updates);
    yield* host.setInSync();
  }
  if (!source.stream) return;
  const complaints: string[] = [];
  const filtered = createValidationFilter(host, (update, issues, outcome) => {
    counts.bad++;
    for (const issue of issues) complaints.push(`${update.path}: ${issue.path}: ${issue.message} (${outcome})`);
  });
  for await (const { number, text } of readLines("-", io)) {
    const item = parseStreamLine(text);
    if (item.type === "bad") {
      counts.bad++;
      complaints.push(item.message);
    } else if (item.type === "updates") {
      await filtered.onUpdates(item.updates);
      for (const key of item.unknownKeys) complaints.push(`"${key}" is no key that the graph knows; skipped`);
    } else if (item.status === "in-sync") yield* host.setInSync();
    else host.onStatusUpdated(item.status);
    for (const complaint of complaints.splice(0))
      await io.err.write(`line ${number} of standard input: ${complaint}\n`);
    yield* host.flush();
  }
  yield* host.setInSync();
}
