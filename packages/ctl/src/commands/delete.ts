import { datastoreCodeOf, type DatastoreWriter, type ResourceId, resourceIdOf } from "@bulrush/datastore";
import { BUILT_IN_TIERS, CALICO_V3, isObject } from "@bulrush/model";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { inputError, usageError } from "../errors.ts";
import { FILE_OPTION, readManifests } from "../input/manifests.ts";
import { outputFormat, outputOption } from "../output/format.ts";
import { inParallel } from "../store/in-parallel.ts";
import { isMissingKind } from "../store/missing-kind.ts";
import { parseTypes } from "../store/resource-types.ts";
import { STORE_NOTE } from "../store/store-note.ts";
import { withWriter } from "../store/with-writer.ts";
import { inOrderOfNeed, WRITES_AT_ONCE } from "../store/write-order.ts";
import { printWriteResults, type WriteResult, writeResult } from "../store/write-result.ts";

const FORMATS = ["text", "json", "ndjson", "yaml"] as const;

/** bulrushctl delete KIND NAME... | -f PATH. The name of the variable: `delete` is a word of the language. */
export const deleteCommand: Command = {
  name: "delete",
  summary: "Remove resources from the datastore",
  usage: [
    "delete KIND NAME... [-n NAMESPACE] [--ignore-not-found] [-o FORMAT]",
    "delete -f PATH [--ignore-not-found] [-o FORMAT]",
  ],
  description: [
    "Removes the named resources, or those that the manifests name (their contents do not count). Policies go before tiers. Exit code 1 if one was not there or could not be removed; the others are removed all the same.",
    "A tier that still has policies, a built-in tier and the ClusterInformation are kept: without their tier policies have no effect, and without ClusterInformation no agent starts. --force removes them all the same.",
    STORE_NOTE,
  ],
  options: [
    { ...FILE_OPTION, doc: "Manifests that name what is to be removed: a file, a directory, or - for standard input." },
    { name: "namespace", short: "n", value: "NAMESPACE", doc: "Of namespaced kinds. Default: default." },
    { name: "ignore-not-found", doc: "What is not there is no failure." },
    { name: "force", doc: "Also what others need." },
    outputOption(FORMATS, "text"),
  ],
  examples: [
    { what: "one policy", line: "bulrushctl delete networkpolicy web -n shop" },
    { what: "what a directory defines", line: "bulrushctl delete -f policies/" },
  ],
  run: runDelete,
};

async function runDelete(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const groups = await idsOf(args, io);
  const results = await withWriter(io, async (writer, signal) => {
    const done: WriteResult[] = [];
    for (const group of groups) {
      const remove = (id: ResourceId): Promise<WriteResult> =>
        writeResult(id, () => removeOne(writer, id, args, signal));
      done.push(...(await inParallel(group, WRITES_AT_ONCE, remove)));
    }
    return done;
  });
  return printWriteResults(results, format, "", io);
}

/** What is to go, in groups one after the other. */
async function idsOf(args: Arguments, io: CommandIo): Promise<readonly (readonly ResourceId[])[]> {
  const path = args.get("file");
  const [text, ...names] = args.positionals;
  if (path !== undefined) {
    if (text !== undefined) throw usageError("-f does not go with a kind and names");
    const { resources } = await readManifests(path, io);
    if (resources.length === 0) throw inputError(`"${path}" names no resource`);
    const groups = inOrderOfNeed(resources.map(({ resource }) => resource));
    return groups.toReversed().map((group) => group.map(resourceIdOf));
  }
  if (text === undefined || names.length === 0)
    throw usageError("Say a kind and names, or -f: bulrushctl delete networkpolicy web -n shop");
  const types = parseTypes(text);
  const [type] = types;
  if (type === undefined || types.length > 1) throw usageError("Names go with one kind");
  const namespace = type.namespaced ? (args.get("namespace") ?? "default") : "";
  return [names.map((name) => ({ apiVersion: type.apiVersion, kind: type.kind, namespace, name }))];
}

async function removeOne(
  writer: DatastoreWriter,
  id: ResourceId,
  args: Arguments,
  signal: AbortSignal,
): Promise<"deleted" | "absent"> {
  if (!args.has("force")) {
    const reason = await needed(writer, id, signal);
    if (reason !== undefined) throw inputError(`${reason}; --force removes it all the same`);
  }
  try {
    await writer.delete(id, undefined, signal);
    return "deleted";
  } catch (error) {
    if (datastoreCodeOf(error) === "DATASTORE_NOT_FOUND" && args.has("ignore-not-found")) return "absent";
    throw error;
  }
}

/** Why it should stay. */
async function needed(writer: DatastoreWriter, id: ResourceId, signal: AbortSignal): Promise<string | undefined> {
  if (id.apiVersion !== CALICO_V3) return undefined;
  if (id.kind === "ClusterInformation") return "No agent starts without ClusterInformation";
  if (id.kind !== "Tier") return undefined;
  if (Object.hasOwn(BUILT_IN_TIERS, id.name)) return "This tier is there in every cluster";
  const count = await policiesIn(writer, id.name, signal);
  return count === 0 ? undefined : `The tier still has ${count} ${count === 1 ? "policy" : "policies"}`;
}

async function policiesIn(writer: DatastoreWriter, tier: string, signal: AbortSignal): Promise<number> {
  let count = 0;
  for (const kind of ["NetworkPolicy", "GlobalNetworkPolicy", "StagedNetworkPolicy", "StagedGlobalNetworkPolicy"]) {
    try {
      for await (const page of writer.list({ apiVersion: CALICO_V3, kind }, signal))
        count += page.filter(({ resource: { spec } }) => isObject(spec) && spec["tier"] === tier).length;
    } catch (error) {
      if (!isMissingKind(error)) throw error;
    }
  }
  return count;
}
