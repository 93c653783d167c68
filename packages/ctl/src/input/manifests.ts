import {
  convertResources,
  formatProblem,
  loadManifests,
  type ManifestResource,
  type Problem,
} from "@bulrush/datastore";
import type { Update } from "@bulrush/model";
import type { OptionSpec } from "../cli/option.ts";
import type { CommandIo } from "../cli/io.ts";

export const FILE_OPTION: OptionSpec = {
  name: "file",
  short: "f",
  value: "PATH",
  doc: "A manifest, a directory of manifests (.yaml, .yml, .json, subdirectories too), or - for standard input. Calico and Kubernetes kinds may stand side by side.",
};

/** What a path of manifests comes to. */
export interface ManifestInput {
  readonly resources: readonly ManifestResource[];
  /** What the felix syncer makes of them, by path. */
  readonly updates: readonly Update[];
  readonly problems: readonly Problem[];
}

/** As Typha does with the same environment. */
function conversionOf({ env }: CommandIo): { readonly interfacePrefix?: string } {
  const interfacePrefix = env["FELIX_INTERFACEPREFIX"] ?? "";
  return interfacePrefix === "" ? {} : { interfacePrefix };
}

/** Loads and converts. Throws DATASTORE_NOT_FOUND and the like when there is nothing to read. */
export async function readManifests(path: string, io: CommandIo): Promise<ManifestInput> {
  const loaded = await loadManifests(path, { stdin: io.stdin });
  const { updates, problems } = convertResources(loaded.resources, conversionOf(io));
  return { resources: loaded.resources, updates, problems: [...loaded.problems, ...problems] };
}

/** Of several paths together, with the problems said on standard error. */
export async function readManifestsOf(paths: readonly string[], io: CommandIo): Promise<ManifestInput> {
  const loaded = [];
  for (const path of paths) loaded.push(await loadManifests(path, { stdin: io.stdin }));
  const resources = loaded.flatMap((one) => one.resources);
  const { updates, problems } = convertResources(resources, conversionOf(io));
  const input = { resources, updates, problems: [...loaded.flatMap((one) => one.problems), ...problems] };
  await reportProblems(input.problems, io);
  return input;
}

/**
 * How many resources (or documents that hold none that can be read) have an error, for people: "2 resources cannot be
 * read". Undefined where all can.
 */
export function unreadText(problems: readonly Problem[]): string | undefined {
  const bad = new Set<string>();
  for (const { severity, source, kind, namespace, name } of problems)
    if (severity === "error") bad.add(JSON.stringify([source?.file, source?.document, kind, namespace, name]));
  if (bad.size === 0) return undefined;
  return `${bad.size} resource${bad.size === 1 ? "" : "s"} cannot be read`;
}

/** {@link readManifests}, with the problems said on standard error. */
export async function readManifestsAloud(path: string, io: CommandIo): Promise<ManifestInput> {
  const input = await readManifests(path, io);
  await reportProblems(input.problems, io);
  return input;
}

/** One line a problem on standard error, with the code of a warning that has one. */
export async function reportProblems(
  problems: readonly (Problem & { readonly code?: string })[],
  io: CommandIo,
): Promise<void> {
  for (const problem of problems) {
    const label = problem.severity === "error" ? io.err.style("red", "error:") : io.err.style("yellow", "warning:");
    const code = problem.code === undefined ? "" : io.err.style("dim", ` [${problem.code}]`);
    await io.err.write(`${label} ${formatProblem(problem)}${code}\n`);
  }
}
