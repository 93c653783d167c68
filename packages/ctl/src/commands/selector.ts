import { explainMismatch, type Selector, type SelectorError, tryParseSelector } from "@bulrush/selector";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { inputError, usageError } from "../errors.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";

const FORMATS = ["text", "json", "yaml"] as const;

/** bulrushctl selector match|format|id EXPR */
export const selector: Command = {
  name: "selector",
  summary: "Try a label selector: match, canonical form, id",
  usage: ["selector match EXPR --labels a=b,c=d", "selector format EXPR", "selector id EXPR"],
  description: [
    "Answers questions about one label selector, as policies have them in `selector`, `namespaceSelector` and so on. `match` prints true or false for a set of labels; `format` prints the canonical text, which is the same for all spellings of one selector; `id` prints the id of the IP set that the selector becomes in the kernel.",
  ],
  options: [
    {
      name: "labels",
      short: "l",
      value: "LABELS",
      doc: "Labels to match, name=value and commas between. May be given several times.",
      multiple: true,
    },
    { name: "exit-code", doc: "With match: exit 1 when the labels do not match." },
    outputOption(FORMATS, "text"),
  ],
  examples: [
    {
      what: "does a pod with these labels fall under the selector?",
      line: `bulrushctl selector match "app == 'web' && !has(legacy)" --labels app=web,tier=front`,
    },
    {
      what: "are two spellings the same selector? compare their canonical text",
      line: `bulrushctl selector format "app=='web'&&(has(x))"`,
    },
    { what: "which set in the ruleset is this selector?", line: `bulrushctl selector id "role in { 'db', 'cache' }"` },
  ],
  run: runSelector,
};

async function runSelector(args: Arguments, io: CommandIo): Promise<number> {
  const [verb, expression, ...more] = args.positionals;
  if (verb !== "match" && verb !== "format" && verb !== "id")
    throw usageError(verb === undefined ? "Say match, format or id" : `"${verb}" is not match, format or id`);
  if (expression === undefined) throw usageError(`selector ${verb} needs a selector, in quotes`);
  if (more.length > 0)
    throw usageError(`One selector at a time: put it in quotes ("${[expression, ...more].join(" ")}")`);
  const format = outputFormat(args, FORMATS, "text");
  const parsed = parseOrExplain(expression, io);
  const answer = async (text: string, value: unknown): Promise<void> => {
    if (format === "text") await io.out.write(`${text}\n`);
    else await printValue(io.out, format, value);
  };
  if (verb === "format") {
    await answer(parsed.text, { selector: parsed.text });
    return 0;
  }
  if (verb === "id") {
    await answer(parsed.id, { selector: parsed.text, id: parsed.id });
    return 0;
  }
  const labels = parseLabels(args.all("labels"));
  const matches = parsed.evaluate(labels);
  const why = matches ? [] : explainMismatch(parsed, labels).map(({ message }) => message);
  await answer(String(matches), { selector: parsed.text, matches, ...(!matches && { why }) });
  // Not on standard output: scripts read that.
  if (format === "text" && io.err.terminal)
    for (const reason of why) await io.err.write(`  ${io.err.style("dim", reason)}\n`);
  return matches || !args.has("exit-code") ? 0 : 1;
}

function parseOrExplain(expression: string, io: CommandIo): Selector {
  const result = tryParseSelector(expression);
  if (result.ok) return result.selector;
  throw inputError(pointAt(expression, result.error, io), result.error);
}

/** The message, and for a terminal's reader the place. */
function pointAt(expression: string, error: SelectorError, io: CommandIo): string {
  if (!io.err.terminal || expression.includes("\n") || expression.length > 200) return error.message;
  return `${error.message}\n  ${expression}\n  ${" ".repeat(error.position)}^`;
}

/** `a=b,c=d` in each text. A name without `=` is refused: it is more often a slip than an empty value. */
function parseLabels(texts: readonly string[]): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  for (const part of texts.flatMap((text) => text.split(","))) {
    const text = part.trim();
    if (text === "") continue;
    const at = text.indexOf("=");
    if (at <= 0) throw usageError(`"${text}" in --labels is not name=value`);
    labels.set(text.slice(0, at), text.slice(at + 1));
  }
  return labels;
}
