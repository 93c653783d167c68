import { policyIdText } from "@bulrush/calc";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { inputError, usageError } from "../errors.ts";
import { sourceText } from "../flow/print-verdict.ts";
import { type SourcedRule, sourcedRules, type WrittenPolicy } from "../flow/rule-source.ts";
import { readManifestsOf } from "../input/manifests.ts";
import { policyKeyOf } from "../input/policy-kinds.ts";
import { WORLD_OPTIONS } from "../input/world.ts";
import { outputFormat, outputOption, printItems } from "../output/format.ts";
import { printRows } from "../store/print-table.ts";
import { storedPolicies } from "../store/stored-policies.ts";
import { withWriter } from "../store/with-writer.ts";

const FORMATS = ["table", "json", "ndjson", "yaml"] as const;

/** bulrushctl rules -f PATH | --live [POLICY...] */
export const rules: Command = {
  name: "rules",
  summary: "Say where each rule that agents count was written",
  usage: ["rules -f PATH | --live  [POLICY...] [-o FORMAT]"],
  description: [
    "Explanations, counters, flow logs, metrics and the comments in the kernel number the rules of a policy as agents have them, from 0 in each direction. One rule of Kubernetes becomes one for each of its protocols and peers, so that their rule 3 may be in the second one of the manifest. This prints for each number the field that it comes from.",
    "POLICY is a policy as explain names it, or the last parts of its name. Default: all. A rule of a policy that is not enforced as it is written, since it cannot be read, has no source.",
  ],
  options: [...WORLD_OPTIONS, outputOption(FORMATS, "table")],
  examples: [
    {
      what: "a counter names rule 3 of this policy: which is that?",
      line: "bulrushctl rules --live KubernetesNetworkPolicy/shop/db",
    },
    { what: "of all policies in a directory", line: "bulrushctl rules -f policies/" },
  ],
  run: runRules,
};

/** A line of the output. */
interface RuleRow extends Omit<SourcedRule, "source"> {
  readonly policy: string;
  readonly file?: string;
  readonly line?: number;
  readonly field?: string;
}

async function runRules(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "table");
  const all = new Map((await readPolicies(args, io)).map((written) => [nameOf(written), written]));
  for (const wanted of args.positionals)
    if (![...all.keys()].some((name) => isNamed(name, wanted))) throw inputError(`There is no policy "${wanted}"`);
  const { positionals } = args;
  const shown = [...all].filter(
    ([name]) => positionals.length === 0 || positionals.some((wanted) => isNamed(name, wanted)),
  );
  const rows = shown.flatMap(([policy, written]) =>
    sourcedRules(written).map(({ source, ...rule }): RuleRow => ({ policy, ...rule, ...source })),
  );
  if (format !== "table") await printItems(io.out, format, rows);
  else await printRows(io.out, ["POLICY", "DIRECTION", "RULE", "ACTION", "PROTOCOL", "WRITTEN"], rows.map(cellsOf));
  return 0;
}

function cellsOf({ policy, direction, rule, action, protocol, field, ...position }: RuleRow): readonly string[] {
  const written = field === undefined ? "-" : sourceText({ ...position, field });
  return [policy, direction, String(rule), action, protocol === "" ? "any" : protocol, written];
}

function nameOf({ resource }: WrittenPolicy): string {
  const key = policyKeyOf(resource);
  return key === undefined ? "" : policyIdText(key);
}

/** "shop/db" of "KubernetesNetworkPolicy/shop/db". */
function isNamed(name: string, wanted: string): boolean {
  return name === wanted || name.endsWith(`/${wanted}`);
}

async function readPolicies(args: Arguments, io: CommandIo): Promise<readonly WrittenPolicy[]> {
  if (args.has("live") === args.has("file")) throw usageError("Give -f PATH, or --live for what the datastore holds");
  if (args.has("live")) return withWriter(io, (writer, signal) => storedPolicies(writer, signal));
  const { resources } = await readManifestsOf(args.all("file"), io);
  // Of two of one name the first counts.
  return resources.filter(({ resource }) => policyKeyOf(resource) !== undefined).toReversed();
}
