import { unreachable } from "@bulrush/base";
import { parseAddress, parseCidr } from "@bulrush/ip";
import { isObject } from "../v3/json-object.ts";
import type { Shape, TextShape } from "../schema/shape.ts";
import { isAbsent } from "./field.ts";
import { expectedBut, type IssueList } from "./issue.ts";

/**
 * What a schema says of each value by itself: its type, bounds, words and form. Fields that the schema does not name
 * pass, and so do its rules between fields, which the checks of each kind know better.
 */
export function checkShape(issues: IssueList, path: string, value: unknown, shape: Shape): void {
  if (isAbsent(value)) return;
  switch (shape.type) {
    case "text":
      issues.check(path, textProblem(value, shape));
      return;
    case "integer":
      if (!isWithin(value, shape)) issues.add(path, expectedBut(rangeText(shape), value));
      return;
    case "number":
      if (typeof value !== "number" || !Number.isFinite(value)) issues.add(path, expectedBut("a number", value));
      return;
    case "boolean":
      if (typeof value !== "boolean" && !(shape.orText === true && (value === "true" || value === "false")))
        issues.add(path, expectedBut("true or false", value));
      return;
    case "integer-or-text": {
      const isGood = typeof value === "string" ? matches(value, shape.pattern) : isWithin(value, shape);
      if (!isGood) issues.add(path, expectedBut("a whole number, or text of the right form", value));
      return;
    }
    case "list":
      checkList(issues, path, value, shape);
      return;
    case "map":
      if (isObject(value))
        for (const [name, entry] of Object.entries(value)) checkShape(issues, `${path}[${name}]`, entry, shape.values);
      else issues.add(path, expectedBut("an object", value));
      return;
    case "object":
      if (!isObject(value)) {
        issues.add(path, expectedBut("an object", value));
        return;
      }
      for (const name of shape.required ?? [])
        if (isAbsent(value[name])) issues.add(`${path}.${name}`, "Expected a value, found none");
      for (const [name, field] of Object.entries(shape.fields))
        checkShape(issues, `${path}.${name}`, value[name], field);
      return;
    default:
      unreachable(shape);
  }
}

function checkList(issues: IssueList, path: string, value: unknown, shape: Extract<Shape, { type: "list" }>): void {
  if (!Array.isArray(value)) {
    issues.add(path, expectedBut("a list", value));
    return;
  }
  const { items, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = shape;
  if (value.length < minItems || value.length > maxItems)
    issues.add(path, `Expected ${minItems} to ${maxItems} entries, found ${value.length}`);
  const seen = new Set<unknown>();
  for (const [i, item] of value.entries()) {
    if (isAbsent(item) && items.nullable !== true) issues.add(`${path}[${i}]`, expectedBut("a value", item));
    if (shape.isSet === true && seen.has(item))
      issues.add(`${path}[${i}]`, `${JSON.stringify(item)} stands here twice`);
    seen.add(item);
    checkShape(issues, `${path}[${i}]`, item, items);
  }
}

function isWithin(value: unknown, { min, max }: { readonly min?: number; readonly max?: number }): boolean {
  if (!Number.isInteger(value)) return false;
  const number = value as number;
  return (min === undefined || number >= min) && (max === undefined || number <= max);
}

function rangeText({ min, max }: { readonly min?: number; readonly max?: number }): string {
  if (min === undefined && max === undefined) return "a whole number";
  if (max === undefined) return `a whole number not below ${min}`;
  return min === undefined ? `a whole number not above ${max}` : `a whole number from ${min} to ${max}`;
}

/** Invariant: one entry for each pattern of the schemas that was used. */
const compiled = new Map<string, RegExp>();

function matches(text: string, pattern: string | undefined): boolean {
  if (pattern === undefined) return true;
  let expression = compiled.get(pattern);
  if (expression === undefined) {
    expression = new RegExp(pattern);
    compiled.set(pattern, expression);
  }
  return expression.test(text);
}

function textProblem(value: unknown, shape: TextShape): string | undefined {
  if (typeof value !== "string") return expectedBut("a string", value);
  const { words, minLength = 0, maxLength = Number.POSITIVE_INFINITY, formats, pattern } = shape;
  if (words !== undefined && !words.includes(value))
    return expectedBut(`one of ${words.map((word) => `"${word}"`).join(", ")}`, value);
  if (value.length < minLength) return expectedBut("text that is not empty", value);
  if (value.length > maxLength) return expectedBut(`at most ${maxLength} characters`, value);
  if (formats !== undefined && !formats.some((format) => hasFormat(value, format)))
    return expectedBut(formats.map((format) => FORMAT_TEXT[format]).join(" or "), value);
  return matches(value, pattern) ? undefined : expectedBut("text of the right form", value);
}

type Format = NonNullable<TextShape["formats"]>[number];

const FORMAT_TEXT: Readonly<Record<Format, string>> = {
  ipv4: "an IPv4 address",
  ipv6: "an IPv6 address",
  cidr: "a network",
  "date-time": "a time",
};

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

function hasFormat(text: string, format: Format): boolean {
  switch (format) {
    case "ipv4":
      return parseAddress(text)?.family === 4;
    case "ipv6":
      return parseAddress(text)?.family === 6;
    case "cidr":
      return text.includes("/") && parseCidr(text) !== undefined;
    case "date-time":
      return TIME.test(text);
    default:
      return unreachable(format);
  }
}
