import { parseCidr } from "@bulrush/ip";
import { isObject, NAMESPACE_LABEL_PREFIX } from "@bulrush/model";
import { AUTHORED_BOUNDS, MAX_LABEL_LENGTH, Op, type SelectorNode, tryParseSelector } from "@bulrush/selector";

/** A place in a resource: names and indexes. */
export type Path = readonly (string | number)[];

/** Something that cannot be read, and where. */
export interface Issue {
  readonly path: Path;
  readonly message: string;
}

/** Looks at one value and adds what is wrong with it. Absent and null values are not shown to a check. */
export type Check = (value: unknown, path: Path, issues: Issue[]) => void;

/** `["spec", "ingress", 0, "action"]` as `spec.ingress[0].action`. */
export function formatPath(path: Path): string {
  let text = "";
  for (const part of path) text += typeof part === "number" ? `[${part}]` : text === "" ? part : `.${part}`;
  return text;
}

/** Runs a check from `path` on. */
export function issuesOf(check: Check, value: unknown, path: Path): readonly Issue[] {
  const issues: Issue[] = [];
  check(value, path, issues);
  return issues;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** An object with these fields and no others: a field that we do not know could be a condition that we would miss. */
export function object(fields: Readonly<Record<string, Check>>): Check {
  return (value, path, issues) => {
    if (!isObject(value)) {
      issues.push({ path, message: `Expected an object, found ${shown(value)}` });
      return;
    }
    for (const [name, found] of Object.entries(value)) {
      if (found === undefined || found === null) continue;
      const check = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (check === undefined) issues.push({ path: [...path, name], message: "Unknown field" });
      else check(found, [...path, name], issues);
    }
  };
}

/** A list whose every entry passes `check`. A null entry is wrong. */
export function list(check: Check): Check {
  return (value, path, issues) => {
    if (!Array.isArray(value)) {
      issues.push({ path, message: `Expected a list, found ${shown(value)}` });
      return;
    }
    for (const [i, entry] of value.entries()) {
      if (entry === undefined || entry === null) issues.push({ path: [...path, i], message: "Empty entry" });
      else check(entry, [...path, i], issues);
    }
  };
}

/** A string that `accepts`; `expected` completes "Expected ...". */
export function text(accepts: (value: string) => boolean = () => true, expected = "a string"): Check {
  return (value, path, issues) => {
    if (typeof value !== "string" || !accepts(value))
      issues.push({ path, message: `Expected ${expected}, found ${shown(value)}` });
  };
}

export function oneOf(...values: readonly (string | number)[]): Check {
  return (value, path, issues) => {
    if (!values.includes(value as string)) {
      issues.push({
        path,
        message: `Expected one of ${values.map((v) => JSON.stringify(v)).join(", ")}, found ${shown(value)}`,
      });
    }
  };
}

export const boolean: Check = (value, path, issues) => {
  if (typeof value !== "boolean") issues.push({ path, message: `Expected true or false, found ${shown(value)}` });
};

export function integer(min: number, max: number): Check {
  return (value, path, issues) => {
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
      issues.push({ path, message: `Expected a whole number from ${min} to ${max}, found ${shown(value)}` });
  };
}

export const number: Check = (value, path, issues) => {
  if (typeof value !== "number" || !Number.isFinite(value))
    issues.push({ path, message: `Expected a number, found ${shown(value)}` });
};

export const cidr: Check = (value, path, issues) => {
  if (typeof value !== "string" || parseCidr(value) === undefined)
    issues.push({ path, message: `Expected an address or CIDR, found ${shown(value)}` });
};

export const stringMap: Check = (value, path, issues) => {
  if (!isObject(value)) {
    issues.push({ path, message: `Expected an object, found ${shown(value)}` });
    return;
  }
  for (const [name, found] of Object.entries(value)) {
    if (typeof found !== "string")
      issues.push({ path: [...path, name], message: `Expected a string, found ${shown(found)}` });
  }
};

function some(node: SelectorNode, test: (node: SelectorNode) => boolean): boolean {
  if (node.op === Op.and || node.op === Op.or || node.op === Op.not) return node.operands.some((o) => some(o, test));
  return test(node);
}

/** Room for the prefix that a translation puts before a label; both are of one length. */
const MAX_AUTHORED_LABEL = MAX_LABEL_LENGTH - NAMESPACE_LABEL_PREFIX.length;

function isTooLong(node: SelectorNode): boolean {
  return "label" in node && node.label.length > MAX_AUTHORED_LABEL;
}

/** A selector; `global()` has a meaning only where `allowGlobal` is set. */
export function selector(allowGlobal = false): Check {
  return (value, path, issues) => {
    if (typeof value !== "string") {
      issues.push({ path, message: `Expected a selector, found ${shown(value)}` });
      return;
    }
    const result = tryParseSelector(value, AUTHORED_BOUNDS);
    if (!result.ok) issues.push({ path, message: result.error.message });
    else if (!allowGlobal && some(result.selector.root, (node) => node.op === Op.global))
      issues.push({ path, message: "global() is allowed only in the namespaceSelector of a rule" });
    else if (some(result.selector.root, isTooLong))
      issues.push({ path, message: `A label name has more than ${MAX_AUTHORED_LABEL} characters` });
  };
}
