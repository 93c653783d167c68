import { promises as fs } from "node:fs";
import { messageOf } from "@bulrush/base";
import { resourceIdOf } from "../../driver/apply.ts";
import type { ResourceId, StoredListRequest } from "../../driver/writer.ts";
import { compareBytes } from "../../manifest/compare-bytes.ts";
import { FILE_CALLS, inParallel } from "../../manifest/in-parallel.ts";
import { type FoundFile, listManifestFiles } from "../../manifest/list-files.ts";
import type { ManifestResource } from "../../manifest/resource.ts";
import { type ParsedManifest, parseManifest } from "../../manifest/parse.ts";
import { failed } from "../../manifest/read-file.ts";
import type { Problem } from "../../problem.ts";

export interface IndexBounds {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
}

/** Where a resource stands. `entry` undefined: it is there and cannot be read, as `problem` says. */
export type Standing = { readonly path: string } & (
  | { readonly entry: ManifestResource }
  | { readonly entry: undefined; readonly problem: Problem }
);

/** Searches that read files as text only; after so many it is cheaper to have parsed them all. */
const TEXT_SEARCHES = 64;
/** Text held unparsed, all files together. */
const MAX_HELD_CHARS = 64 * 1024 * 1024;

/**
 * What each file of a directory holds, for a writer: which file a resource lives in. To parse ten thousand files takes
 * seconds, so one is parsed only when it has the name that is looked for, or when all of them are needed.
 *
 * Invariant: each file is in exactly one of `#unparsed` (its text) and `#parsed`; `#places` has exactly the paths of
 * `#parsed` under the identity of each resource in them, `#troubled` those with problems; `#stamps` has every file.
 */
export class DirectoryIndex {
  readonly #directory: string;
  readonly #bounds: IndexBounds;
  readonly #stamps = new Map<string, string | undefined>();
  readonly #unparsed = new Map<string, string>();
  readonly #parsed = new Map<string, ParsedManifest>();
  readonly #places = new Map<string, Set<string>>();
  readonly #troubled = new Set<string>();
  #heldChars = 0;
  #searches = 0;

  constructor(directory: string, bounds: IndexBounds) {
    this.#directory = directory;
    this.#bounds = bounds;
  }

  get fileCount(): number {
    return this.#stamps.size;
  }

  /** Looks at the directory again and reads what has changed. Rejects as `listManifestFiles`. */
  async refresh(): Promise<void> {
    const { files } = await listManifestFiles(this.#directory, this.#bounds.maxFiles);
    const paths = new Set(files.map(({ path }) => path));
    for (const path of this.#stamps.keys()) if (!paths.has(path)) this.forget(path);
    const changed = files.filter(({ path, stamp }) => this.#stamps.get(path) !== stamp);
    await inParallel(changed, FILE_CALLS, (file) => this.#read(file));
  }

  /** Of the file when it was read; undefined: it is not there yet. */
  stampOf(path: string): string | undefined {
    return this.#stamps.get(path);
  }

  /** Takes what will be written (undefined: the file goes) over the file with this stamp. */
  setText(path: string, text: string | undefined, stamp: string | undefined): void {
    this.forget(path);
    if (text === undefined) return;
    this.#stamps.set(path, stamp);
    if (this.#heldChars + text.length <= MAX_HELD_CHARS) {
      this.#unparsed.set(path, text);
      this.#heldChars += text.length;
    } else this.#setParsed(path, parseManifest(text, path));
  }

  /** What was taken by `setText` is on the disk now. */
  setStamp(path: string, stamp: string | undefined): void {
    if (this.#stamps.has(path)) this.#stamps.set(path, stamp);
  }

  /** What is known of a file does not hold any more. */
  forget(path: string): void {
    for (const { resource } of this.#parsed.get(path)?.resources ?? []) {
      const key = keyOf(resourceIdOf(resource));
      const places = this.#places.get(key);
      places?.delete(path);
      if (places?.size === 0) this.#places.delete(key);
    }
    this.#heldChars -= this.#unparsed.get(path)?.length ?? 0;
    this.#unparsed.delete(path);
    this.#parsed.delete(path);
    this.#troubled.delete(path);
    this.#stamps.delete(path);
  }

  /** The first definition in byte order of path: the one that counts. */
  find(id: ResourceId): Standing | undefined {
    this.#searches++;
    for (const [path, text] of this.#unparsed) {
      if (this.#searches > TEXT_SEARCHES || mayName(text, id.name)) this.#parse(path, text);
    }
    const key = keyOf(id);
    for (const path of inOrder(this.#places.get(key) ?? [])) {
      const entry = this.#entryAt(path, key);
      if (entry !== undefined) return { path, entry };
    }
    for (const path of inOrder(this.#troubled)) {
      const problem = this.#parsed.get(path)?.problems.find((one) => isAbout(one, id));
      if (problem !== undefined) return { path, entry: undefined, problem };
    }
    return undefined;
  }

  /** All that counts, in no order. */
  *entries(): Iterable<ManifestResource> {
    for (const [path, text] of this.#unparsed) this.#parse(path, text);
    for (const [key, paths] of this.#places) {
      const entry = this.#entryAt(inOrder(paths)[0] ?? "", key);
      if (entry !== undefined) yield entry;
    }
  }

  /** What is wrong with files, or with resources of this kind and namespace in them, so that they do not count. */
  unreadable({ kind, namespace }: Pick<StoredListRequest, "kind" | "namespace">): readonly Problem[] {
    for (const [path, text] of this.#unparsed) this.#parse(path, text);
    const isMeant = (problem: Problem): boolean =>
      problem.severity === "error" &&
      (problem.kind === undefined || problem.kind === kind) &&
      (problem.namespace === undefined || namespace === undefined || problem.namespace === namespace);
    return inOrder(this.#troubled).flatMap((path) => this.#parsed.get(path)?.problems.filter(isMeant) ?? []);
  }

  #entryAt(path: string, key: string): ManifestResource | undefined {
    return this.#parsed.get(path)?.resources.find(({ resource }) => keyOf(resourceIdOf(resource)) === key);
  }

  /** A file that changes while it is read has another stamp at the next refresh. */
  async #read({ path, absolute, bytes, stamp }: FoundFile): Promise<void> {
    const { maxFileBytes } = this.#bounds;
    this.forget(path);
    let bad: ParsedManifest;
    try {
      if (bytes <= maxFileBytes) {
        this.setText(path, new TextDecoder("utf-8", { fatal: true }).decode(await fs.readFile(absolute)), stamp);
        return;
      }
      bad = failed(path, `The file has ${bytes} bytes, more than ${maxFileBytes}`);
    } catch (error) {
      bad = failed(path, `Cannot read the file: ${messageOf(error)}`);
    }
    this.#stamps.set(path, stamp);
    this.#setParsed(path, bad);
  }

  #parse(path: string, text: string): void {
    this.#unparsed.delete(path);
    this.#heldChars -= text.length;
    this.#setParsed(path, parseManifest(text, path));
  }

  #setParsed(path: string, parsed: ParsedManifest): void {
    this.#parsed.set(path, parsed);
    if (parsed.problems.length > 0) this.#troubled.add(path);
    for (const { resource } of parsed.resources) {
      const key = keyOf(resourceIdOf(resource));
      const places = this.#places.get(key);
      if (places === undefined) this.#places.set(key, new Set([path]));
      else places.add(path);
    }
  }
}

/** A scalar without escapes stands in YAML and JSON as it is. */
function mayName(text: string, name: string): boolean {
  return text.includes(name) || text.includes("\\");
}

/** True for a resource that its file has and that could not be read. */
function isAbout(problem: Problem, { kind, namespace, name }: ResourceId): boolean {
  return (
    problem.severity === "error" &&
    problem.kind === kind &&
    problem.name === name &&
    (problem.namespace ?? "default") === (namespace || "default")
  );
}

function keyOf({ apiVersion, kind, namespace, name }: ResourceId): string {
  return `${apiVersion} ${kind} ${namespace}/${name}`;
}

function inOrder(paths: Iterable<string>): readonly string[] {
  const list = [...paths];
  return list.length < 2 ? list : list.sort(compareBytes);
}
