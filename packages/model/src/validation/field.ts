import { nearestName } from "@bulrush/base";
import { isObject, type JsonObject } from "../v3/json-object.ts";
import { expectedBut, type IssueList } from "./issue.ts";

/**
 * Readers of fields whose shape is not known yet. An absent field (undefined or null) reads as undefined without an
 * issue; a field of the wrong shape reads as undefined with one.
 */
export type Fields = Readonly<JsonObject>;

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** Reads an object; every field that is not in `known` is an issue: a misspelt condition must not widen a rule. */
export function readObject(
  issues: IssueList,
  path: string,
  value: unknown,
  known?: ReadonlySet<string>,
): Fields | undefined {
  if (isAbsent(value)) return undefined;
  if (!isObject(value)) {
    issues.add(path, expectedBut("an object", value));
    return undefined;
  }
  if (known !== undefined) {
    for (const name of Object.keys(value))
      if (!known.has(name)) issues.add(path === "" ? name : `${path}.${name}`, unknownField(name, known));
  }
  return value;
}

function unknownField(name: string, known: ReadonlySet<string>): string {
  const near = nearestName(name, known);
  const hint = near === undefined ? "" : `; is "${near}" meant?`;
  return `Unknown field${hint}; the fields here are ${[...known].join(", ")}`;
}

/** Reads a list; absent reads as empty. */
export function readList(issues: IssueList, path: string, value: unknown): readonly unknown[] {
  if (isAbsent(value)) return [];
  if (Array.isArray(value)) return value;
  issues.add(path, expectedBut("a list", value));
  return [];
}

export function readString(issues: IssueList, path: string, value: unknown): string | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value === "string") return value;
  issues.add(path, expectedBut("a string", value));
  return undefined;
}

export function readBoolean(issues: IssueList, path: string, value: unknown): boolean | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value === "boolean") return value;
  issues.add(path, expectedBut("true or false", value));
  return undefined;
}

/** Reads a whole number between `min` and `max`, both included. */
export function readInteger(
  issues: IssueList,
  path: string,
  value: unknown,
  min: number,
  max: number,
): number | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  issues.add(path, expectedBut(`a whole number from ${min} to ${max}`, value));
  return undefined;
}

export function readNumber(issues: IssueList, path: string, value: unknown): number | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  issues.add(path, expectedBut("a number", value));
  return undefined;
}

/** Reads one of the given words, letter by letter. */
export function readWord<Word extends string>(
  issues: IssueList,
  path: string,
  value: unknown,
  words: readonly Word[],
): Word | undefined {
  if (isAbsent(value)) return undefined;
  const word = words.find((one) => one === value);
  if (word === undefined) issues.add(path, expectedBut(`one of ${words.map((one) => `"${one}"`).join(", ")}`, value));
  return word;
}

/** Reads a list of words in which none is repeated. */
export function readWords<Word extends string>(
  issues: IssueList,
  path: string,
  value: unknown,
  words: readonly Word[],
): readonly Word[] {
  const out: Word[] = [];
  for (const [i, item] of readList(issues, path, value).entries()) {
    const word = readWord(issues, `${path}[${i}]`, item, words);
    if (item === null) issues.add(`${path}[${i}]`, expectedBut("a word", item));
    if (word === undefined) continue;
    if (out.includes(word)) issues.add(`${path}[${i}]`, `"${word}" stands here twice`);
    out.push(word);
  }
  return out;
}
