import type { Dice } from "./dice.ts";

/** The last one, and __proto__ below, are traps for objects that stand for maps. */
const NAMES = ["app", "role", "env", "tag", "constructor"] as const;
const VALUES = ["", "web", "db", "web-2", "b"] as const;
/** Labels that mean something to the graph or come from profiles. */
const SPECIAL = [
  ["projectcalico.org/namespace", "ns1"],
  ["projectcalico.org/namespace", "ns2"],
  ["projectcalico.org/orchestrator", "k8s"],
  ["pcns.env", "web"],
  ["pcsa.role", "db"],
  ["__proto__", "web"],
] as const;

export const LABEL_NAMES: readonly string[] = NAMES;
export const LABEL_VALUES: readonly string[] = VALUES;

/** A selector in any spelling that the language has. */
export function randomSelector(d: Dice, depth = 2): string {
  if (depth > 0 && d.chance(0.4)) {
    if (d.chance(0.25)) return `!${d.chance(0.3) ? "!" : ""}(${randomSelector(d, depth - 1)})`;
    const operands = [randomSelector(d, depth - 1), randomSelector(d, depth - 1), ...d.many(1, () => term(d))];
    const joiner = d.pick(["&&", "||", " && ", " || "]);
    return operands.map((one) => (d.chance(0.7) ? `(${one})` : one)).join(joiner);
  }
  return d.chance(0.15) ? `! ${term(d)}` : term(d);
}

function term(d: Dice): string {
  const [name, value] = d.chance(0.2) ? d.pick(SPECIAL) : [d.pick(NAMES), d.pick(VALUES)];
  const quoted = d.chance(0.5) ? `"${value}"` : `'${value}'`;
  switch (d.below(11)) {
    case 0:
      return d.pick(["all()", "global()", "all( )"]);
    case 1:
      return `has(${name})`;
    case 2:
    case 3:
      return `${name} == ${quoted}`;
    case 4:
      return `${name}!=${quoted}`;
    case 5:
      return `${name} contains ${quoted}`;
    case 6:
      return `${name} ${d.pick(["starts with", "startswith"])} ${quoted}`;
    case 7:
      return `${name} ${d.pick(["ends with", "endswith"])} ${quoted}`;
    case 8:
    case 9:
      return `${name} in {${values(d)}}`;
    default:
      return `${name} ${d.pick(["not in", "notin"])} {${values(d)}}`;
  }
}

function values(d: Dice): string {
  return d
    .some(VALUES, 3)
    .map((value) => `"${value}"`)
    .join(", ");
}
