import type { Resource } from "@bulrush/model";
import { Document, parseDocument, visit } from "yaml";
import type { ResourceId } from "../../driver/writer.ts";
import { DatastoreError } from "../../errors.ts";
import { setAt } from "./edit-node.ts";
import { type ItemPath, locate } from "./locate.ts";

const READ = { merge: true, stringKeys: true, logLevel: "error" } as const;
/** What another reader's YAML (1.1) would take for something else is quoted. */
const WRITE = { compat: "yaml-1.1" } as const;
const MARKER = /^---(?=[ \t\r\n]|$)/m;
/** An end marker or a directive: the text cannot be cut at the markers alone. */
const END_OR_DIRECTIVE = /^(?:\.\.\.(?:[ \t\r\n]|$)|%)/m;

/** The text of a new file with one resource. */
export function renderManifest(resource: Resource): string {
  return new Document(resource, WRITE).toString({ lineWidth: 0 });
}

/**
 * The text of a manifest with one resource replaced. Every other document stays as it is, byte for byte; in the
 * resource's own one, comments stay at what does not change.
 *
 * @throws DatastoreError DATASTORE_CONFLICT if the resource is not in it any more, DATASTORE_NOT_SUPPORTED if the text has
 * YAML end markers or directives.
 */
export function replaceInManifest(text: string, id: ResourceId, resource: Resource, file: string): string {
  const json = parseJson(text);
  if (json !== undefined) return renderJson(setIn(json.value, found(locate(json.value, id), id, file), resource), text);
  return editYaml(text, id, file, (document, path) => {
    setAt(document, path, resource);
    return true;
  });
}

/**
 * The text without the resource; undefined if nothing is left but comments.
 *
 * @throws DatastoreError as {@link replaceInManifest}.
 */
export function removeFromManifest(text: string, id: ResourceId, file: string): string | undefined {
  const json = parseJson(text);
  if (json !== undefined) {
    const path = found(locate(json.value, id), id, file);
    if (path.length === 0 || isOnly(json.value, path)) return undefined;
    return renderJson(setIn(json.value, path, undefined), text);
  }
  const rest = editYaml(text, id, file, (document, path) => {
    if (path.length === 0 || isOnly(document.toJS(), path)) return false;
    document.deleteIn(path);
    return true;
  });
  return chunksOf(rest, file).every((chunk) => parse(chunk).contents === null) ? undefined : rest;
}

/** Lets `edit` change the document that holds the resource; false takes it out. */
function editYaml(
  text: string,
  id: ResourceId,
  file: string,
  edit: (document: Document, path: ItemPath) => boolean,
): string {
  const chunks = chunksOf(text, file);
  for (const [i, chunk] of chunks.entries()) {
    const document = parse(chunk);
    if (document.errors.length > 0) continue;
    const path = locate(document.toJS({ maxAliasCount: 100 }), id);
    if (path === undefined) continue;
    expandAliases(document);
    chunks[i] = edit(document, path) ? renderLike(document, chunk) : "";
    return chunks.join("");
  }
  return found(undefined, id, file) as never;
}

/** An alias must not lose what it stands for, nor change along with it: such a document is written out. */
function expandAliases(document: Document): void {
  let hasAlias = false;
  visit(document, { Alias: () => void (hasAlias = true) });
  if (hasAlias)
    document.contents = document.createNode(document.toJS({ maxAliasCount: 100 }), { aliasDuplicateObjects: false });
}

/** The text cut before each document marker: a `---` at the beginning of a line is never anything else. */
function chunksOf(text: string, file: string): string[] {
  if (END_OR_DIRECTIVE.test(text)) {
    const message = `"${file}" has YAML directives or end markers (... or %): edit it by hand`;
    throw new DatastoreError(message, { code: "DATASTORE_NOT_SUPPORTED", op: "Write manifests", data: { file } });
  }
  const chunks: string[] = [];
  let rest = text;
  for (;;) {
    const at = rest.slice(1).search(MARKER) + 1;
    if (at === 0) return [...chunks, rest];
    chunks.push(rest.slice(0, at));
    rest = rest.slice(at);
  }
}

function parse(chunk: string): Document {
  return parseDocument(chunk, { ...READ, ...WRITE });
}

/** Written as the document was: its indentation, its spacing of braces, its line ends. */
function renderLike(document: Document, chunk: string): string {
  const indent = /^( {2,8})\S/m.exec(chunk)?.[1]?.length ?? 2;
  const isFlat = /^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(chunk);
  const text = document.toString({
    lineWidth: 0,
    indent: isFlat ? 2 : indent,
    indentSeq: !isFlat,
    flowCollectionPadding: !/[{[][^\s\]}]/.test(chunk),
  });
  const whole = text.endsWith("\n") ? text : `${text}\n`;
  return chunk.includes("\r\n") ? whole.replaceAll("\n", "\r\n") : whole;
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  if (!/^\s*{/.test(text)) return undefined;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Indented as the text was. */
function renderJson(value: unknown, text: string): string {
  return JSON.stringify(value, undefined, /\n([ \t]+)"/.exec(text)?.[1]) + (text.endsWith("\n") ? "\n" : "");
}

/** Plain data with `value` at `path`; undefined takes the list entry there out. */
function setIn(root: unknown, path: ItemPath, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(root) && typeof step === "number")
    return rest.length === 0 && value === undefined
      ? root.toSpliced(step, 1)
      : root.with(step, setIn(root[step], rest, value));
  const fields = root as Record<string, unknown>;
  return { ...fields, [step]: setIn(fields[step], rest, value) };
}

/** True if the lists on the way to `path` hold nothing else. */
function isOnly(root: unknown, path: ItemPath): boolean {
  let at = root;
  for (const step of path) {
    if (Array.isArray(at) && at.length !== 1) return false;
    at = (at as Record<string | number, unknown>)[step];
  }
  return true;
}

function found(path: ItemPath | undefined, id: ResourceId, file: string): ItemPath {
  if (path !== undefined) return path;
  const name = id.namespace === "" ? id.name : `${id.namespace}/${id.name}`;
  const message = `Cannot find ${id.kind} ${name} in "${file}", in which it stood`;
  throw new DatastoreError(message, { code: "DATASTORE_CONFLICT", op: "Write manifests", data: { file } });
}
