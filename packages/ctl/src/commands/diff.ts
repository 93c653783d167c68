import { loadManifests, type ManifestResource } from "@bulrush/datastore";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { type Comparison, compareWorlds } from "../diff/compare.ts";
import { comparisonText } from "../diff/print.ts";
import { enforceStaged } from "../diff/enforce-staged.ts";
import { changedUpdates } from "../diff/world-change.ts";
import { usageError } from "../errors.ts";
import { explainerFor } from "../flow/explain-input.ts";
import { readManifestsOf, reportProblems, unreadText } from "../input/manifests.ts";
import { readLiveWorld, type World } from "../input/world.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";
import { storedPolicies } from "../store/stored-policies.ts";
import { withWriter } from "../store/with-writer.ts";

const FORMATS = ["text", "json", "yaml"] as const;
const DEFAULT_MAX_FLOWS = 1_000_000;
const NOTHING: World = { updates: [], resources: [], problems: [] };

/** bulrushctl diff --against PATH | --live, -f PATH, --delete PATH */
export const diff: Command = {
  name: "diff",
  summary: "Say which connections change if manifests are applied, and through which rule",
  usage: [
    "diff --against PATH | --live  [-f PATH]... [--delete PATH]... [-o FORMAT]",
    "diff --against PATH | --live  --whole -f PATH... [-o FORMAT]",
    "diff --against PATH | --live  --enforce-staged [-f PATH]... [-o FORMAT]",
  ],
  description: [
    "Judges connections on two states with the graph that the agents program the kernel from: as things stand (--against manifests, or --live: the datastore of the environment), and with the manifests of -f applied over them and those of --delete removed. With --whole, what -f names is all that there is afterwards.",
    "The connections are not guessed. Pods, host endpoints, addresses, protocols and ports are put into kinds that no rule of either state can tell apart, and one connection is judged for every pair of ends of which something changes and every kind of traffic. What is printed stands for all of its kind: `shop/web (and 3 like it)`. Only what is in both states is compared; pods that come or go are named. Where a bound cuts that short, the output says so. A Service is no end of its own: what changes at its backends is what changes for it.",
    "With --enforce-staged, staged policies are enforced in the second state, those of -f too: each takes the place of the policy of its name, or removes it where its stagedAction is Delete. So a policy can be staged first, and be looked at before anything depends on it.",
    "Exit code as of diff: 0 if no connection changes, 1 if some do, 2 for trouble; also 2 when nothing was found but not all was looked at, or a manifest cannot be read.",
  ],
  options: [
    { name: "against", value: "PATH", multiple: true, doc: "Manifests of how things stand." },
    { name: "live", doc: "How things stand is what the datastore of the environment holds." },
    { name: "file", short: "f", value: "PATH", multiple: true, doc: "Manifests to be applied." },
    { name: "delete", value: "PATH", multiple: true, doc: "Manifests of what is to be deleted." },
    { name: "whole", doc: "What -f does not name is deleted." },
    { name: "enforce-staged", doc: "Staged policies are enforced, or take away what they stand for." },
    { name: "max-flows", value: "N", doc: `Judge at most so many flows. Default: ${DEFAULT_MAX_FLOWS}.` },
    outputOption(FORMATS, "text"),
  ],
  examples: [
    { what: "before a rollout", line: "bulrushctl diff --live -f new-policies.yaml" },
    { what: "what does this policy do? delete it and see", line: "bulrushctl diff --live --delete old-policy.yaml" },
    { what: "what would the staged policies change?", line: "bulrushctl diff --live --enforce-staged" },
    { what: "between two branches, in CI", line: "bulrushctl diff --against main/cluster --whole -f cluster" },
  ],
  failureCode: 2,
  run: runDiff,
};

async function runDiff(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const maxFlows = maxFlowsOf(args);
  const before = await worldBefore(args, io);
  const applied = await worldAfter(before, args, io);
  const after = args.has("enforce-staged") ? await worldEnforced(applied, args, io) : applied;
  const found = compareWorlds(await explainerFor(before), await explainerFor(after), maxFlows);
  const unread = unreadText([...before.problems, ...after.problems]);
  const bounded = [
    ...(unread === undefined ? [] : [`${unread}: only what stands in their place, if anything, was looked at`]),
    ...found.bounded,
  ];
  const comparison: Comparison = { ...found, bounded };
  if (format === "text") await io.out.write(comparisonText(comparison, io.out));
  else await printValue(io.out, format, comparison);
  if (comparison.changes.length > 0) return 1;
  return comparison.bounded.length > 0 ? 2 : 0;
}

function worldBefore(args: Arguments, io: CommandIo): Promise<World> {
  if (args.has("live") === args.has("against"))
    throw usageError("Say how things stand: --against PATH, or --live for the datastore");
  return args.has("live") ? readLiveWorld(io) : readManifestsOf(args.all("against"), io);
}

async function worldAfter(before: World, args: Arguments, io: CommandIo): Promise<World> {
  if (args.has("enforce-staged") && args.has("delete"))
    throw usageError("--enforce-staged does not go with --delete: leave out of -f what is to go");
  if (!args.has("file") && !args.has("delete")) {
    if (args.has("enforce-staged") && !args.has("whole")) return { ...before, problems: [] };
    throw usageError("Nothing would change: give -f PATH or --delete PATH, or --enforce-staged");
  }
  if (args.has("whole")) {
    if (args.has("delete")) throw usageError("--whole already deletes what -f does not name");
    return readManifestsOf(args.all("file"), io);
  }
  // Problems of the conversion are said by readManifestsOf.
  const applied = args.has("file") ? await readManifestsOf(args.all("file"), io) : NOTHING;
  const problems = [...applied.problems];
  const removed: ManifestResource[] = [];
  for (const path of args.all("delete")) {
    const loaded = await loadManifests(path, { stdin: io.stdin });
    await reportProblems(loaded.problems, io);
    removed.push(...loaded.resources);
    problems.push(...loaded.problems);
  }
  const updates = changedUpdates(before.updates, { apply: applied.resources, remove: removed });
  return { updates, resources: [...before.resources, ...applied.resources], problems };
}

/** The resources of a datastore are not among those of its world: its staged policies are read by themselves. */
async function worldEnforced(world: World, args: Arguments, io: CommandIo): Promise<World> {
  const isLive = args.has("live") && !args.has("whole");
  const stored = isLive
    ? await withWriter(io, (writer, signal) => storedPolicies(writer, signal, (kind) => kind.startsWith("Staged")))
    : [];
  const nowhere = { file: "", document: 0, line: 0 };
  const staged = [...stored.map(({ resource, source = nowhere }) => ({ resource, source })), ...world.resources];
  const change = enforceStaged(staged);
  return { ...world, updates: changedUpdates(world.updates, change) };
}

function maxFlowsOf(args: Arguments): number {
  const text = args.get("max-flows") ?? String(DEFAULT_MAX_FLOWS);
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || !Number.isSafeInteger(number))
    throw usageError(`Bad --max-flows "${text}"; expected a number from 1`);
  return number;
}
