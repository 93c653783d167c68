import {
  isLikelyOurs,
  isObject,
  type JsonObject,
  kindFacts,
  type KindFacts,
  MAX_RESOURCE_NESTING,
  plainDataIssue,
} from "@bulrush/model";
import { legacyKindProblem } from "./legacy-kind.ts";

/** What is wrong with an object before its spec is looked at, and where. */
export interface StructureIssue {
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** Somebody else's kind: named, and no error of the file. */
  readonly isForeign?: boolean;
}

const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function isListKind(apiVersion: string, kind: string): boolean {
  return (
    kind === "List" || (kind.endsWith("List") && kindFacts(apiVersion, kind.slice(0, -"List".length)) !== undefined)
  );
}

/** The facts of a readable object's kind, or what is wrong with it: kind, name, namespace, labels, annotations. */
export function checkStructure(object: unknown): KindFacts | readonly StructureIssue[] {
  if (!isObject(object)) return [{ path: [], message: `Expected an object, found ${shown(object)}` }];
  const { apiVersion, kind, metadata } = object;
  if (typeof apiVersion !== "string" || apiVersion === "")
    return [{ path: ["apiVersion"], message: `Expected a group and version, found ${shown(apiVersion)}` }];
  if (typeof kind !== "string" || kind === "")
    return [{ path: ["kind"], message: `Expected the name of a kind, found ${shown(kind)}` }];
  const facts = kindFacts(apiVersion, kind);
  if (facts === undefined) {
    // A list comes here only when its items are amiss.
    if (isListKind(apiVersion, kind))
      return [{ path: ["items"], message: `Expected a list, found ${shown(object["items"])}` }];
    const legacy = legacyKindProblem(apiVersion, kind);
    if (legacy !== undefined) return [{ path: ["kind"], message: legacy }];
    const isForeign = !isLikelyOurs(apiVersion, kind);
    return [{ path: ["kind"], message: `Unknown kind "${kind}" of ${apiVersion}`, isForeign }];
  }
  const odd = plainDataIssue(object, MAX_RESOURCE_NESTING);
  if (odd !== undefined) return [odd];
  if (!isObject(metadata)) return [{ path: ["metadata"], message: `Expected an object, found ${shown(metadata)}` }];
  const issues: StructureIssue[] = [];
  const { name, namespace } = metadata;
  if (typeof name !== "string" || !NAME.test(name)) {
    const expected = "Expected up to 253 lower-case letters, digits, - and .";
    issues.push({ path: ["metadata", "name"], message: `${expected}, found ${shown(name)}` });
  }
  if (facts.namespaced && !isAbsent(namespace) && (typeof namespace !== "string" || !NAMESPACE.test(namespace))) {
    const expected = "Expected up to 63 lower-case letters, digits and -";
    issues.push({ path: ["metadata", "namespace"], message: `${expected}, found ${shown(namespace)}` });
  }
  for (const field of ["labels", "annotations"]) {
    const map = metadata[field];
    if (isAbsent(map)) continue;
    if (!isObject(map)) {
      issues.push({ path: ["metadata", field], message: `Expected an object, found ${shown(map)}` });
      continue;
    }
    for (const [key, value] of Object.entries(map)) {
      if (typeof value !== "string")
        issues.push({ path: ["metadata", field, key], message: `Expected a string, found ${shown(value)}; quote it` });
    }
  }
  return issues.length > 0 ? issues : facts;
}

/**
 * A policy or tier whose only faults are in its labels and annotations, without those entries; undefined for anything
 * else. They decide nothing about it, but if it were left out, what it stops would pass.
 */
export function withoutBadLabels(object: unknown, issues: readonly StructureIssue[]): JsonObject | undefined {
  if (!isObject(object) || typeof object["kind"] !== "string" || !isObject(object["metadata"])) return undefined;
  if (!object["kind"].endsWith("NetworkPolicy") && object["kind"] !== "Tier") return undefined;
  const metadata: JsonObject = { ...object["metadata"] };
  for (const { path } of issues) {
    const [part, field = "", key] = path;
    if (part !== "metadata" || (field !== "labels" && field !== "annotations")) return undefined;
    const map = metadata[field];
    if (key === undefined || !isObject(map)) delete metadata[field];
    else metadata[field] = Object.fromEntries(Object.entries(map).filter(([name]) => name !== key));
  }
  const rest = { ...object, metadata };
  // What is odd hides what else is wrong.
  const left = checkStructure(rest);
  return "plural" in left ? rest : withoutBadLabels(rest, left);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}
