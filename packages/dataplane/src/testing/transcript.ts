import { assert } from "@bulrush/base";
import { formatRule, formatRuleset, type TableState } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import { overlay } from "../config/overlay.ts";
import { renderRuleset } from "../render/render-ruleset.ts";
import { parseMessage } from "./transcript-message.ts";

/**
 * Golden transcripts: prose, then commands, then `show` and what it prints.
 *
 *     # Lines of prose.
 *     setting NAME VALUE
 *     policy np/ns/name {"in": [...], "out": [...], ...}       (see transcript-message.ts for the others)
 *     show ip [NAME ...]
 *     ----
 *     what is expected, up to the next blank line
 *
 * `show` without names prints the whole table, else the chains, sets and maps whose name begins so. Messages add up
 * from block to block; each `show` renders all of them anew.
 */
export interface TranscriptBlock {
  /** Prose and commands as they are in the file. */
  readonly head: readonly string[];
  readonly expected: string;
  readonly actual: string;
}

export function runTranscript(text: string): TranscriptBlock[] {
  const blocks: TranscriptBlock[] = [];
  const messages: ToDataplane[] = [];
  let settings: ReadonlyMap<string, string> = new Map();
  for (const block of text.trimEnd().split(/\n\n+/)) {
    const [head = "", expected = ""] = block.split("\n----\n");
    const lines = head.split("\n");
    let actual = "";
    for (const line of lines) {
      if (line.startsWith("#") || line === "") continue;
      const [command = "", ...words] = line.split(" ");
      if (command === "setting") settings = overlay(settings, new Map([[words[0] ?? "", words.slice(1).join(" ")]]));
      else if (command === "show") actual += show(renderRuleset(messages, settings), words);
      else messages.push(parseMessage(command, words.join(" ")));
    }
    blocks.push({ head: lines, expected: expected.trimEnd(), actual: actual.trimEnd() });
  }
  return blocks;
}

/** Everything that a transcript sends, and its settings at the end. */
export function transcriptInput(text: string): {
  readonly settings: ReadonlyMap<string, string>;
  readonly messages: readonly ToDataplane[];
} {
  const messages: ToDataplane[] = [];
  const settings = new Map<string, string>();
  for (const block of text.trimEnd().split(/\n\n+/))
    for (const line of (block.split("\n----\n")[0] ?? "").split("\n")) {
      const [command = "", ...words] = line.split(" ");
      if (command === "setting") settings.set(words[0] ?? "", words.slice(1).join(" "));
      else if (command !== "" && command !== "show" && !command.startsWith("#"))
        messages.push(parseMessage(command, words.join(" ")));
    }
  return { settings, messages };
}

/** The file with what is printed now in place of what was expected. */
export function rewriteTranscript(blocks: readonly TranscriptBlock[]): string {
  return blocks
    .map(({ head, actual }) => (actual === "" ? head.join("\n") : `${head.join("\n")}\n----\n${actual}`))
    .join("\n\n")
    .concat("\n");
}

function show(tables: readonly TableState[], [family, ...prefixes]: readonly string[]): string {
  const table = tables.find((candidate) => candidate.family === family);
  assert(table !== undefined, `Expected a table ${family}`);
  // A blank line ends a block of the transcript.
  if (prefixes.length === 0) return `${formatRuleset(table).replaceAll(/\n+/g, "\n")}\n`;
  const wanted = (name: string): boolean => prefixes.some((prefix) => name.startsWith(prefix));
  const lines: string[] = [];
  for (const set of table.sets.values())
    if (wanted(set.name))
      lines.push(`set ${set.name}${set.interval ? " (interval)" : ""}: ${[...set.elements].sort().join(", ")}`);
  for (const map of table.maps.values())
    if (wanted(map.name)) {
      lines.push(`map ${map.name}:`);
      for (const [key, verdict] of map.elements)
        lines.push(`  ${key} : ${verdict.kind} ${"chain" in verdict ? verdict.chain : ""}`.trimEnd());
    }
  for (const chain of table.chains.values())
    if (wanted(chain.name)) {
      lines.push(`chain ${chain.name}:`);
      for (const rule of chain.rules) lines.push(`  ${formatRule(rule, table.family)}`);
    }
  return `${lines.join("\n")}\n`;
}
