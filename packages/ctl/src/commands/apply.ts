import { applyResource, type DatastoreWriter, resourceIdOf, saysTheSame } from "@bulrush/datastore";
import type { Resource } from "@bulrush/model";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { inputError } from "../errors.ts";
import { judgeManifests } from "../input/judge.ts";
import { FILE_OPTION, readManifests, reportProblems } from "../input/manifests.ts";
import { outputFormat, outputOption } from "../output/format.ts";
import { inParallel } from "../store/in-parallel.ts";
import { STORE_NOTE } from "../store/store-note.ts";
import { withWriter } from "../store/with-writer.ts";
import { printWriteResults, type WriteResult, writeResult } from "../store/write-result.ts";
import { inOrderOfNeed, WRITES_AT_ONCE } from "../store/write-order.ts";

const FORMATS = ["text", "json", "ndjson", "yaml"] as const;

/** bulrushctl apply -f PATH */
export const apply: Command = {
  name: "apply",
  summary: "Create or replace resources in the datastore",
  usage: ["apply -f PATH [--dry-run] [-o FORMAT]"],
  description: [
    "Checks the manifests as validate does; if anything is bad, says what and where, and writes nothing. Then makes the datastore hold each resource: creates it, replaces it, or leaves it where it says the same already. Tiers come before policies.",
    "A resource with metadata.resourceVersion replaces only that version: if somebody changed it meanwhile, it is a conflict. Without one, the newest is replaced.",
    "What cannot be written is named; the others are written all the same, and the exit code is 1. In a directory, a resource that is there is changed in its own file, and a new one gets a file of its own.",
    STORE_NOTE,
  ],
  options: [
    FILE_OPTION,
    { name: "dry-run", doc: "Say what would be done, and do nothing." },
    outputOption(FORMATS, "text"),
  ],
  examples: [
    { what: "what would change?", line: "bulrushctl apply -f policies/ --dry-run" },
    { what: "change it", line: "bulrushctl apply -f policies/" },
    {
      what: "edit what is there",
      line: "bulrushctl get np web -n shop -o yaml > web.yaml; $EDITOR web.yaml; bulrushctl apply -f web.yaml",
    },
  ],
  run: runApply,
};

async function runApply(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const input = await readManifests(args.need("file"), io);
  const { judgements, problems } = judgeManifests(input);
  await reportProblems(problems, io);
  const bad = judgements.filter(({ valid }) => !valid).length;
  if (bad > 0) throw inputError(`${bad} of ${judgements.length} resources are bad: nothing was written`);
  const isDry = args.has("dry-run");
  const results = await withWriter(io, async (writer, signal) => {
    const done: WriteResult[] = [];
    for (const group of inOrderOfNeed(input.resources.map(({ resource }) => resource))) {
      const write = (resource: Resource): Promise<WriteResult> =>
        writeResult(resourceIdOf(resource), async () =>
          isDry ? planned(writer, resource, signal) : (await applyResource(writer, resource, signal)).action,
        );
      done.push(...(await inParallel(group, WRITES_AT_ONCE, write)));
    }
    return done;
  });
  return printWriteResults(results, format, isDry ? " (dry run)" : "", io);
}

async function planned(
  writer: DatastoreWriter,
  resource: Resource,
  signal: AbortSignal,
): Promise<WriteResult["action"]> {
  const stored = await writer.get(resourceIdOf(resource), signal);
  if (stored === undefined) return "created";
  return saysTheSame(stored.resource, resource) ? "unchanged" : "configured";
}
