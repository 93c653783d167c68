import type { Update } from "@bulrush/model";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { FILE_OPTION, readManifestsAloud } from "../input/manifests.ts";
import { outputFormat, outputOption, printItems } from "../output/format.ts";

const FORMATS = ["ndjson", "json", "yaml"] as const;

/** bulrushctl convert -f PATH */
export const convert: Command = {
  name: "convert",
  summary: "Show the internal key-value pairs that manifests become",
  usage: ["convert -f PATH [-o FORMAT]"],
  description: [
    "Prints the v1 key-value pairs that the felix syncer makes of the manifests, sorted by key: what Typha would send to every agent. A resource that cannot be read is reported on standard error, and what stands in its place (never something wider) is printed.",
    "Interfaces of pods get the prefix that FELIX_INTERFACEPREFIX names in the environment, as they do at a Typha with it. Default: cali.",
  ],
  options: [FILE_OPTION, outputOption(FORMATS, "ndjson")],
  examples: [
    { what: "what does this policy become?", line: "bulrushctl convert -f policy.yaml -o yaml" },
    {
      what: "feed the graph with it",
      line: "bulrushctl convert -f cluster/ | bulrushctl calc --stream --hostname node-1",
    },
  ],
  run: runConvert,
};

async function runConvert(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "ndjson");
  const { updates } = await readManifestsAloud(args.need("file"), io);
  await printItems(io.out, format, keyValues(updates));
  return 0;
}

function* keyValues(updates: readonly Update[]): Generator<{ key: string; value: unknown }> {
  for (const { path, value } of updates) yield { key: path, value: value ?? null };
}
