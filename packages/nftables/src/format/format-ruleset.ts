import { keyShape } from "../element/key-shape.ts";
import { encodeKey } from "../element/key-shape.ts";
import { parseInterval } from "../element/interval.ts";
import { setKeyShape } from "../element/set-elements.ts";
import type { BaseChain, ChainState, KeyField, SetState, TableFamily, TableState, VerdictMapState } from "../state.ts";
import { compareBytes } from "../wire/bytes.ts";
import { verdictText } from "../wire/data-value.ts";
import { quoted } from "./format-literal.ts";
import { formatRule } from "./format-rule.ts";

/**
 * The table in nft syntax, as `nft -f` reads it: flow tables (without devices, which are not part of it), sets, maps and chains in the table's order, elements sorted. The same
 * statements are encoded and printed, so that this is what is programmed. Throws NFT_INVALID for what cannot be encoded.
 */
export function formatRuleset(table: TableState): string {
  const blocks = [
    ...Array.from(table.flowtables?.values() ?? [], ({ name }) =>
      block(`flowtable ${name}`, ["hook ingress priority filter", "counter"]),
    ),
    ...Array.from(table.sets.values(), formatSet),
    ...Array.from(table.maps.values(), formatMap),
    ...Array.from(table.chains.values(), (chain) => formatChain(chain, table.family)),
  ];
  return `table ${table.family} ${table.name} {\n${blocks.join("\n")}}\n`;
}

function block(head: string, lines: readonly string[]): string {
  return `\t${head} {\n${lines.map((line) => `\t\t${line}\n`).join("")}\t}\n`;
}

function formatSet(set: SetState): string {
  const lines = [`type ${set.key.join(" . ")}`];
  if (set.size !== undefined) lines.push(`size ${set.size}`);
  if (set.interval) lines.push("flags interval");
  if (set.dynamic === true) lines.push("flags dynamic,timeout");
  const shape = setKeyShape(set);
  const sorted = [...set.elements]
    .map((text) => ({ text, key: set.interval ? parseInterval(shape, text).first : encodeKey(shape, text) }))
    .sort((a, b) => compareBytes(a.key, b.key))
    .map(({ text }) => formatElement(set.key, text));
  if (sorted.length > 0) lines.push(`elements = { ${sorted.join(",\n\t\t\t     ")} }`);
  return block(`set ${set.name}`, lines);
}

function formatMap(map: VerdictMapState): string {
  const lines = [`type ${map.key} : verdict`];
  const shape = keyShape([map.key]);
  const sorted = [...map.elements]
    .map(([text, verdict]) => ({ text, verdict, key: encodeKey(shape, text) }))
    .sort((a, b) => compareBytes(a.key, b.key))
    .map(({ text, verdict }) => `${formatElement([map.key], text)} : ${verdictText(verdict)}`);
  if (sorted.length > 0) lines.push(`elements = { ${sorted.join(",\n\t\t\t     ")} }`);
  return block(`map ${map.name}`, lines);
}

/** Interface names stand in quotes. */
function formatElement(key: readonly KeyField[], text: string): string {
  if (!key.includes("ifname")) return text;
  const parts = key.length === 1 ? [text] : text.split(" . ");
  return parts.map((part, i) => (key[i] === "ifname" ? quoted(part) : part)).join(" . ");
}

function formatChain(chain: ChainState, family: TableFamily): string {
  const lines = chain.rules.map((rule) => formatRule(rule, family));
  if (chain.base !== undefined) lines.unshift(formatBase(chain.base, family));
  return block(`chain ${chain.name}`, lines);
}

function formatBase(base: BaseChain, family: TableFamily): string {
  const priority = priorityText(base, family);
  return `type ${base.type} hook ${base.hook} priority ${priority}; policy ${base.policy};`;
}

interface NamedPriority {
  readonly name: string;
  readonly value: number;
  readonly hook?: BaseChain["hook"];
}

/** nft's names, which it uses for priorities up to ten away. The two of NAT count at their own hook only. */
const PRIORITIES: readonly NamedPriority[] = [
  { name: "raw", value: -300 },
  { name: "mangle", value: -150 },
  { name: "dstnat", value: -100, hook: "prerouting" },
  { name: "filter", value: 0 },
  { name: "security", value: 50 },
  { name: "srcnat", value: 100, hook: "postrouting" },
];

function priorityText(base: BaseChain, family: TableFamily): string {
  const known = family === "arp" ? PRIORITIES.filter(({ name }) => name === "filter") : PRIORITIES;
  for (const { name, value, hook } of known) {
    const offset = base.priority - value;
    if (Math.abs(offset) > 10 || (hook !== undefined && hook !== base.hook)) continue;
    return offset === 0 ? name : `${name} ${offset > 0 ? "+" : "-"} ${Math.abs(offset)}`;
  }
  return String(base.priority);
}
