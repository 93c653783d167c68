import { tryParseSelector } from "@bulrush/selector";
import { usageError } from "../errors.ts";

/** `a`, `!a`, `a=b`, `a==b`, `a!=b`: one requirement as kubectl writes it. */
const REQUIREMENT = /^(!?)\s*([\w./-]+)\s*(?:(==?|!=)\s*([\w.-]*))?$/;

/**
 * A filter on labels, from kubectl's form (`app=web,tier!=db,!legacy`) or a selector as policies have it
 * (`app == 'web' && has(tier)`).
 *
 * @throws CtlError CTL_USAGE.
 */
export function parseLabelFilter(text: string): (labels: Readonly<Record<string, string>>) => boolean {
  const parts = text.split(",").map((part) => REQUIREMENT.exec(part.trim()));
  const isPlain = parts.every((part) => part !== null && (part[1] === "" || part[3] === undefined));
  const expression = isPlain ? parts.map((part) => requirement(part ?? [])).join(" && ") : text;
  const result = tryParseSelector(expression);
  if (!result.ok) throw usageError(`Cannot read the selector "${text}": ${result.error.message}`);
  return (labels) => result.selector.evaluate(new Map(Object.entries(labels)));
}

function requirement([, not = "", name = "", operator, value = ""]: readonly string[]): string {
  if (operator === undefined) return `${not}has(${name})`;
  return `${name} ${operator === "!=" ? "!=" : "=="} "${value}"`;
}
