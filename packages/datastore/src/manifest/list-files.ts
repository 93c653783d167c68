import { type BigIntStats, promises as fs } from "node:fs";
import { join } from "node:path";
import { hasCode, messageOf } from "@bulrush/base";
import { DatastoreError } from "../errors.ts";
import type { Problem } from "../problem.ts";
import { compareBytes } from "./compare-bytes.ts";
import { FILE_CALLS, inParallel } from "./in-parallel.ts";

/** A manifest file as it was found. */
export interface FoundFile {
  /** Below the root, with "/". */
  readonly path: string;
  readonly absolute: string;
  /** Changes when the file is written or replaced. */
  readonly stamp: string;
  readonly bytes: number;
}

export interface FoundFiles {
  /** In byte order of path. */
  readonly files: readonly FoundFile[];
  /** The root and every directory below it, with its identity, so that a replaced one is noticed. */
  readonly directories: ReadonlyMap<string, string>;
  /** Files and directories that are there and could not be looked at: of what is in them nothing is known. */
  readonly unreadable: readonly string[];
  readonly problems: readonly Problem[];
}

const MANIFEST = /^[^.].*\.(?:ya?ml|json)$/i;
/** Directories within one another, the root among them. */
const MAX_DEPTH = 16;

export function isManifestName(name: string): boolean {
  return MANIFEST.test(name);
}

/**
 * Finds the manifests of a directory and of the ones below it: `.yaml`, `.yml` and `.json`, without names that begin
 * with a dot (editors' files, and the hidden directories of a mounted ConfigMap, whose links are followed).
 *
 * @throws DatastoreError DATASTORE_NOT_FOUND, DATASTORE_FAILED: the root cannot be listed.
 */
export async function listManifestFiles(root: string, maxFiles: number): Promise<FoundFiles> {
  const files: FoundFile[] = [];
  const directories = new Map<string, string>();
  const unreadable: string[] = [];
  const problems: Problem[] = [];
  const report = (path: string, message: string, effect?: string): void => {
    const source = { file: path, document: 0, line: 0 };
    problems.push({ severity: "error", message, source, ...(effect !== undefined && { effect }) });
  };
  const walk = async (absolute: string, path: string, ancestors: readonly string[]): Promise<void> => {
    const identity = identityOf(await fs.stat(absolute, { bigint: true }));
    if (ancestors.includes(identity)) return;
    directories.set(absolute, identity);
    const names = (await fs.readdir(absolute)).filter((name) => !name.startsWith(".")).sort(compareBytes);
    const looks: (BigIntStats | { readonly error: unknown })[] = [];
    await inParallel(names, FILE_CALLS, async (name, i) => {
      looks[i] = await fs.stat(join(absolute, name), { bigint: true }).catch((error: unknown) => ({ error }));
    });
    for (const [i, name] of names.entries()) {
      const child = path === "" ? name : `${path}/${name}`;
      const at = join(absolute, name);
      try {
        const stat = looks[i] as (typeof looks)[number];
        if ("error" in stat) throw stat.error;
        if (stat.isDirectory()) {
          if (ancestors.length + 1 < MAX_DEPTH) await walk(at, child, [...ancestors, identity]);
          else report(child, `More than ${MAX_DEPTH} directories deep`, "ignored");
        } else if (stat.isFile() && isManifestName(name)) {
          files.push({ path: child, absolute: at, stamp: stampOf(stat), bytes: Number(stat.size) });
        }
      } catch (error) {
        // Gone between the listing and the look: not there.
        if (hasCode(error, "ENOENT")) continue;
        unreadable.push(child);
        report(child, `Cannot read it: ${messageOf(error)}`);
      }
    }
  };
  try {
    await walk(root, "", []);
  } catch (error) {
    throw asDatastoreError(root, error);
  }
  files.sort((a, b) => compareBytes(a.path, b.path));
  for (const { path } of files.splice(maxFiles)) report(path, `More than ${maxFiles} files`, "ignored");
  return { files, directories, unreadable, problems };
}

function identityOf(stat: BigIntStats): string {
  return `${stat.dev}:${stat.ino}`;
}

/** Of a file: what `stat` says of its identity, size and times. */
export function stampOf(stat: BigIntStats): string {
  return `${identityOf(stat)}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

/** An error of the file system, with the code that tells what is there. */
export function asDatastoreError(path: string, cause: unknown): DatastoreError {
  const isMissing = hasCode(cause, "ENOENT") || hasCode(cause, "ENOTDIR");
  const message = isMissing ? `Nothing at "${path}"` : `Cannot read "${path}": ${messageOf(cause)}`;
  return new DatastoreError(message, {
    code: isMissing ? "DATASTORE_NOT_FOUND" : "DATASTORE_FAILED",
    op: "Read manifests",
    cause,
    data: { path },
  });
}
