import { messageOf } from "@bulrush/base";
import { applyDefaults, isObject, type JsonObject, plainDataIssue, type Resource } from "@bulrush/model";
import { isNode, LineCounter, parseAllDocuments } from "yaml";
import { readCrd } from "../kubernetes/crd-codec.ts";
import { boundedProblems, type Problem, type SourcePosition } from "../problem.ts";
import type { ManifestResource } from "./resource.ts";
import { itemsOf } from "./list-items.ts";
import { readPlainYaml } from "./plain-yaml.ts";
import { checkStructure, type StructureIssue, withoutBadLabels } from "./structure.ts";

/** What a file holds. With an error among the problems, `resources` are the ones that could be read. */
export interface ParsedManifest {
  readonly resources: readonly ManifestResource[];
  readonly problems: readonly Problem[];
}

/** Line of a path in a document, counting from 1; 0 if not known. */
type LineOf = (path: readonly (string | number)[]) => number;

/** Aliases are expanded; more than this many nodes of them is an attack. */
const MAX_ALIASES = 100;
/** Of a document: room for other people's kinds, and far from what recursion can bear. */
const MAX_DOCUMENT_NESTING = 200;
/** A file that is all wrong needs no longer list. */
const MAX_PROBLEMS = 50;

/**
 * Reads manifests: YAML or JSON, any number of documents, `kind: List` and the lists of each kind. Never throws.
 *
 * @param file What positions name the file.
 */
export function parseManifest(text: string, file: string): ParsedManifest {
  const { resources, problems } = readDocuments(text, file);
  return { resources, problems: boundedProblems(problems, MAX_PROBLEMS) };
}

function readDocuments(text: string, file: string): ParsedManifest {
  const resources: ManifestResource[] = [];
  const problems: Problem[] = [];
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const json = parseJson(source);
  if (json !== undefined) {
    readDocument(json.value, { file, document: 1, line: 1 }, () => 1, resources, problems);
    return { resources, problems };
  }
  const plain = readPlainDocuments(source, file);
  if (plain !== undefined) return plain;
  const lines = new LineCounter();
  const parsed = parseAllDocuments(source, { lineCounter: lines, stringKeys: true, merge: true, logLevel: "error" });
  for (const [i, document] of (Array.isArray(parsed) ? parsed : []).entries()) {
    const number = i + 1;
    const lineAt = (offset: number | undefined): number =>
      offset === undefined ? 0 : lines.linePos(firstCharacter(source, offset)).line;
    if (document.errors.length > 0) {
      for (const error of document.errors.slice(0, 5)) {
        const message = error.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "") ?? "";
        problems.push({
          severity: "error",
          message: `Cannot read this document: ${message}`,
          source: { file, document: number, line: lineAt(error.pos[0]) },
        });
      }
      continue;
    }
    const lineOf: LineOf = (path) => {
      for (let depth = path.length; depth >= 0; depth--) {
        const node = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
        if (isNode(node) && node.range) return lineAt(node.range[0]);
      }
      return 0;
    };
    const position = { file, document: number, line: lineOf([]) };
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (error) {
      problems.push({ severity: "error", message: `Cannot read this document: ${messageOf(error)}`, source: position });
      continue;
    }
    if (value !== null && value !== undefined) readDocument(value, position, lineOf, resources, problems);
  }
  return { resources, problems };
}

/**
 * What plain YAML without fault holds. Undefined where more is asked for: other YAML, and the lines within a document,
 * of a problem or of the items of a list.
 */
function readPlainDocuments(text: string, file: string): ParsedManifest | undefined {
  const resources: ManifestResource[] = [];
  const problems: Problem[] = [];
  const documents = readPlainYaml(text);
  if (documents === undefined) return undefined;
  for (const { value, line, number } of documents) {
    if (itemsOf(value) !== undefined) return undefined;
    readDocument(value, { file, document: number, line }, () => line, resources, problems);
    if (problems.length > 0) return undefined;
  }
  return { resources, problems };
}

/** Most files are one JSON value or YAML; the YAML reader also takes JSON and says where it is wrong. */
function parseJson(text: string): { readonly value: unknown } | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function firstCharacter(text: string, offset: number): number {
  const rest = /^\s*/.exec(text.slice(offset, offset + 1000))?.[0].length ?? 0;
  return Math.min(text.length, offset + rest);
}

function readDocument(
  value: unknown,
  position: SourcePosition,
  lineOf: LineOf,
  resources: ManifestResource[],
  problems: Problem[],
): void {
  const issue = plainDataIssue(value, MAX_DOCUMENT_NESTING);
  if (issue === undefined) readObject(value, position, lineOf, [], resources, problems);
  else {
    const message = `Cannot read this document: ${issue.message}`;
    problems.push({ severity: "error", message, source: { ...position, line: lineOf(issue.path) } });
  }
}

function readObject(
  value: unknown,
  position: SourcePosition,
  lineOf: LineOf,
  path: readonly (string | number)[],
  resources: ManifestResource[],
  problems: Problem[],
): void {
  const items = itemsOf(value);
  if (items !== undefined) {
    for (const [i, item] of items.entries()) {
      const at = [...path, "items", i];
      readObject(item, { ...position, line: lineOf(at) }, lineOf, at, resources, problems);
    }
    return;
  }
  const found = checkStructure(value);
  const issues = "kind" in found ? [] : found;
  const readable = "kind" in found ? (value as JsonObject) : withoutBadLabels(value, issues);
  const resource = readable === undefined ? undefined : applyDefaults(readCrd(withoutNulls(readable)));
  if (resource !== undefined) resources.push({ resource, source: position });
  for (const issue of issues)
    problems.push(problemOf(issue, resource ?? value, { ...position, line: lineOf([...path, ...issue.path]) }));
}

/** A null field is an absent one, in the metadata and beside it. */
export function withoutNulls(object: JsonObject): Resource {
  const filled = (fields: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
  return filled({ ...object, metadata: filled(object["metadata"] as JsonObject) }) as unknown as Resource;
}

function problemOf(issue: StructureIssue, value: unknown, source: SourcePosition): Problem {
  const { kind, metadata } = isObject(value) ? value : {};
  const { name, namespace } = isObject(metadata) ? metadata : {};
  const field = issue.path.join(".");
  return {
    severity: issue.isForeign === true ? "warning" : "error",
    message: issue.message,
    source,
    ...(typeof kind === "string" && { kind }),
    ...(typeof namespace === "string" && { namespace }),
    ...(typeof name === "string" && { name }),
    ...(field !== "" && { field }),
    ...(issue.isForeign === true && { effect: "ignored" }),
  };
}
