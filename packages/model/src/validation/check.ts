import { parseCidr } from "@bulrush/ip";
import { AUTHORED_BOUNDS, MAX_LABEL_LENGTH, Op, type SelectorNode, readSelector } from "@bulrush/selector";
import { NAMESPACE_LABEL_PREFIX } from "../v1/well-known.ts";
import { isObject } from "../v3/json-object.ts";
import type { IssueList } from "./issue.ts";

/** A place in a resource: names and indexes. */
export type Path = readonly (string | number)[];

/** Something that cannot be read, and where. */
export interface CheckIssue {
  readonly path: Path;
  readonly message: string;
}

/**
 * What is wrong with one value, each place from the value on; undefined when nothing is. Absent and null values are not
 * shown to a check. Whoever calls a check puts the place of the value before ({@link below}): a value that is right, as
 * nearly all are, costs no allocation.
 */
export type Check = (value: unknown) => CheckIssue[] | undefined;

const NO_ISSUES: readonly CheckIssue[] = [];

/** `["spec", "ingress", 0, "action"]` as `spec.ingress[0].action`; a key that is no plain word stands in brackets. */
export function formatPath(path: Path): string {
  let text = "";
  for (const part of path) {
    const isWord = typeof part === "string" && /^\w+$/.test(part);
    text += isWord || text === "" ? (text === "" ? part : `.${part}`) : `[${part}]`;
  }
  return text;
}

/** Runs a check; `path` is where the value stands. */
export function issuesOf(check: Check, value: unknown, path: Path = []): readonly CheckIssue[] {
  const issues = check(value);
  if (issues === undefined) return NO_ISSUES;
  return path.length === 0 ? issues : issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
}

/** Adds what a check finds to a list of issues that has not said it yet; `path` is where the value stands. */
export function addChecked(issues: IssueList, path: string, check: Check, value: unknown): void {
  const found = check(value);
  if (found === undefined) return;
  const said = new Set(issues.issues.map((issue) => issue.path));
  for (const issue of found) {
    const at = formatPath([path, ...issue.path]);
    if (!said.has(at)) issues.add(at, issue.message);
  }
}

/** The value itself is wrong, or something at `path` below it. */
export function wrong(message: string, ...path: Path): CheckIssue[] {
  return [{ path, message }];
}

/** Issues of a part, as issues of the whole. */
export function below(part: string | number, issues: CheckIssue[] | undefined): CheckIssue[] | undefined {
  return issues?.map((issue) => ({ ...issue, path: [part, ...issue.path] }));
}

/** Both lists, in order; `first` may be added to. */
export function joined(first: CheckIssue[] | undefined, second: CheckIssue[] | undefined): CheckIssue[] | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  for (const issue of second) first.push(issue);
  return first;
}

/** `Expected <expected>, found <value as JSON, shortened>`. */
function unexpected(expected: string, found: unknown): CheckIssue[] {
  const text = JSON.stringify(found) ?? typeof found;
  return wrong(`Expected ${expected}, found ${text.length > 60 ? `${text.slice(0, 57)}...` : text}`);
}

/** An object with these fields and no others: a field that we do not know could be a condition that we would miss. */
export function object(fields: Readonly<Record<string, Check>>): Check {
  const checks = new Map(Object.entries(fields));
  return (value) => {
    if (!isObject(value)) return unexpected("an object", value);
    let issues: CheckIssue[] | undefined;
    for (const name of Object.keys(value)) {
      const found = value[name];
      if (found === undefined || found === null) continue;
      const check = checks.get(name);
      const own = check === undefined ? wrong("Unknown field") : check(found);
      if (own !== undefined) issues = joined(issues, below(name, own));
    }
    return issues;
  };
}

/** A list whose every entry passes `check`. A null entry is wrong. */
export function list(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return unexpected("a list", value);
    let issues: CheckIssue[] | undefined;
    for (let i = 0; i < value.length; i++) {
      const entry: unknown = value[i];
      const own = entry === undefined || entry === null ? wrong("Empty entry") : check(entry);
      if (own !== undefined) issues = joined(issues, below(i, own));
    }
    return issues;
  };
}

/** A string that `accepts`; `expected` completes "Expected ...". */
export function text(accepts: (value: string) => boolean = () => true, expected = "a string"): Check {
  return (value) => (typeof value === "string" && accepts(value) ? undefined : unexpected(expected, value));
}

/** Compared without conversion: "4" is not 4. */
export function oneOf(...values: readonly (string | number)[]): Check {
  const all = new Set<unknown>(values);
  const expected = `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`;
  return (value) => (all.has(value) ? undefined : unexpected(expected, value));
}

/** `true` and `false` alone: no text is taken for one. */
export const boolean: Check = (value) => (typeof value === "boolean" ? undefined : unexpected("true or false", value));

/** Bounds are inclusive. */
export function integer(min: number, max: number): Check {
  return (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= min && value <= max
      ? undefined
      : unexpected(`a whole number from ${min} to ${max}`, value);
}

/** Finite. */
export const number: Check = (value) =>
  typeof value === "number" && Number.isFinite(value) ? undefined : unexpected("a number", value);

/** An address or a CIDR, whose host bits may be set. */
export const cidr: Check = (value) =>
  typeof value === "string" && parseCidr(value) !== undefined ? undefined : unexpected("an address or CIDR", value);

/** Names the values that are no strings. */
export const stringMap: Check = (value) => {
  if (!isObject(value)) return unexpected("an object", value);
  let issues: CheckIssue[] | undefined;
  for (const name of Object.keys(value))
    if (typeof value[name] !== "string") issues = joined(issues, below(name, unexpected("a string", value[name])));
  return issues;
};

function some(node: SelectorNode, test: (node: SelectorNode) => boolean): boolean {
  if (node.op === Op.and || node.op === Op.or || node.op === Op.not) return node.operands.some((o) => some(o, test));
  return test(node);
}

/** Room for the prefix that a translation puts before a label; both are of one length. */
const MAX_AUTHORED_LABEL = MAX_LABEL_LENGTH - NAMESPACE_LABEL_PREFIX.length;

function isGlobal(node: SelectorNode): boolean {
  return node.op === Op.global;
}

function isTooLong(node: SelectorNode): boolean {
  return "label" in node && node.label.length > MAX_AUTHORED_LABEL;
}

/** A selector; `global()` has a meaning only where `allowGlobal` is set. */
export function selector(allowGlobal = false): Check {
  return (value) => {
    if (typeof value !== "string") return unexpected("a selector", value);
    const result = readSelector(value, AUTHORED_BOUNDS);
    if (!result.ok) return wrong(result.error.message);
    // The tree is looked at only where the text leaves room for what is looked for.
    if (!allowGlobal && value.includes("global") && some(result.selector.root, isGlobal))
      return wrong("global() is allowed only in the namespaceSelector of a rule");
    return value.length > MAX_AUTHORED_LABEL && some(result.selector.root, isTooLong)
      ? wrong(`A label name has more than ${MAX_AUTHORED_LABEL} characters`)
      : undefined;
  };
}
