import { type DatastoreWriter, type ResourceId, resourceIdOf } from "@bulrush/datastore";
import { type KindFacts, KINDS, type Resource } from "@bulrush/model";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { inputError, usageError } from "../errors.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";
import { exportable } from "../store/exportable.ts";
import { parseLabelFilter } from "../store/label-filter.ts";
import { isMissingKind } from "../store/missing-kind.ts";
import { printResourceTable } from "../store/print-table.ts";
import { parseTypes, typeName } from "../store/resource-types.ts";
import { STORE_NOTE } from "../store/store-note.ts";
import { withWriter } from "../store/with-writer.ts";

const FORMATS = ["table", "json", "yaml", "name"] as const;

/** bulrushctl get KIND [NAME...] */
export const get: Command = {
  name: "get",
  summary: "Show what the datastore holds",
  usage: ["get KIND[,KIND] [NAME...] [-n NAMESPACE | -A] [-l SELECTOR] [-o FORMAT]"],
  description: [
    "Prints resources from the datastore: all of a kind, or the named ones. KIND is a plural, a singular, or a short name (np, gnp, hep, pool, ...); `networkpolicies` are Calico's, `networkpolicies.networking.k8s.io` those of Kubernetes; `all` is every kind.",
    "Several resources come as one List in JSON and YAML, which apply takes back. Exit code 1 if a named one is not there, or if something cannot be read: standard error names it, and what can be read is printed.",
    STORE_NOTE,
  ],
  options: [
    { name: "namespace", short: "n", value: "NAMESPACE", doc: "Of namespaced kinds only this one. Default: default." },
    { name: "all-namespaces", short: "A", doc: "All namespaces." },
    {
      name: "selector",
      short: "l",
      value: "SELECTOR",
      doc: "Only what has these labels: a=b,c!=d,!e, or a selector as policies have it.",
    },
    { name: "export", doc: "Leave out what the store counts (revision, uid, times), to apply it elsewhere." },
    outputOption(FORMATS, "table"),
  ],
  examples: [
    { what: "the policies of all namespaces", line: "bulrushctl get networkpolicies -A" },
    { what: "one of them as it is stored", line: "bulrushctl get np web -n shop -o yaml" },
    { what: "a backup", line: "bulrushctl get all -A --export -o yaml > backup.yaml" },
  ],
  run: runGet,
};

async function runGet(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "table");
  const [kinds, ...names] = args.positionals;
  if (kinds === undefined) throw usageError("Say a kind: bulrushctl get networkpolicies");
  const types = parseTypes(kinds);
  if (names.length > 0 && types.length > 1) throw usageError("Names go with one kind");
  if (args.has("all-namespaces") && (names.length > 0 || args.has("namespace")))
    throw usageError(`-A does not go with ${names.length > 0 ? "names" : "-n"}`);
  const filter = parseLabelFilter(args.get("selector") ?? "all()");
  const unreadable = new Set<string>();
  const all = await withWriter(io, (writer, signal) => {
    const namespace = args.has("all-namespaces") ? undefined : (args.get("namespace") ?? "default");
    return names.length > 0 && types[0] !== undefined
      ? getNamed(writer, types[0], names, namespace ?? "", signal)
      : getAll(writer, types, namespace, signal, types === KINDS, unreadable);
  });
  const resources = all
    .filter(({ metadata }) => filter(metadata.labels ?? {}))
    .map((resource) => (args.has("export") ? exportable(resource) : resource));
  if (format === "table" || format === "name") {
    await print(resources, format, args.has("all-namespaces"), io);
    if (resources.length === 0 && unreadable.size === 0) await io.err.write(nothingFound(types));
  } else {
    const isOne = names.length === 1 && resources.length === 1;
    await printValue(io.out, format, isOne ? resources[0] : { apiVersion: "v1", kind: "List", items: resources });
  }
  for (const what of unreadable) await io.err.write(`error: ${what}\n`);
  return unreadable.size > 0 ? 1 : 0;
}

async function getNamed(
  writer: DatastoreWriter,
  { apiVersion, kind, namespaced }: KindFacts,
  names: readonly string[],
  namespace: string,
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  const found: Resource[] = [];
  for (const name of names) {
    const id: ResourceId = { apiVersion, kind, name, namespace: namespaced ? namespace : "" };
    const stored = await writer.get(id, signal);
    if (stored === undefined) {
      const where = namespaced ? ` in namespace ${namespace}` : "";
      throw inputError(`There is no ${kind} ${name}${where}`);
    }
    found.push(stored.resource);
  }
  return found;
}

/** `isTolerant`: a kind that this datastore does not have has nothing. Adds to `unreadable` what is left out, and why. */
async function getAll(
  writer: DatastoreWriter,
  types: readonly KindFacts[],
  namespace: string | undefined,
  signal: AbortSignal,
  isTolerant: boolean,
  unreadable: Set<string>,
): Promise<readonly Resource[]> {
  // By id: a store may give the same under two names of its kind.
  const found = new Map<string, Resource>();
  for (const { apiVersion, kind, namespaced } of types) {
    const request = {
      apiVersion,
      kind,
      ...(namespaced && namespace !== undefined && { namespace }),
      onUnreadable: (what: string) => void unreadable.add(what),
    };
    try {
      for await (const page of writer.list(request, signal))
        for (const { resource } of page) found.set(JSON.stringify(resourceIdOf(resource)), resource);
    } catch (error) {
      if (!isTolerant || !isMissingKind(error)) throw error;
    }
  }
  return [...found.values()];
}

async function print(
  resources: readonly Resource[],
  format: "table" | "name",
  isEverywhere: boolean,
  io: CommandIo,
): Promise<void> {
  const byType = Map.groupBy(resources, ({ apiVersion, kind }) => typeName({ apiVersion, kind }));
  let isFirst = true;
  for (const [name, ofType] of byType) {
    if (format === "name") {
      for (const { metadata } of ofType) await io.out.write(`${name}/${qualified(metadata, isEverywhere)}\n`);
      continue;
    }
    if (!isFirst) await io.out.write("\n");
    if (byType.size > 1) await io.out.write(`${io.out.style("dim", `# ${name}`)}\n`);
    await printResourceTable(io.out, ofType, isEverywhere && ofType[0]?.metadata.namespace !== undefined);
    isFirst = false;
  }
}

function qualified({ namespace, name }: Resource["metadata"], isEverywhere: boolean): string {
  return isEverywhere && namespace !== undefined ? `${namespace}/${name}` : name;
}

/** Kinds of other groups have the same plural: whoever misses his resources may mean those. */
function nothingFound(types: readonly KindFacts[]): string {
  const [type] = types;
  const others = KINDS.filter((one) => types.length === 1 && one.plural === type?.plural && one !== type).map(typeName);
  return `Nothing found${others.length > 0 ? `; there is also the kind ${others.join(", ")}` : ""}\n`;
}
