import { type BigIntStats, promises as fs } from "node:fs";
import { join } from "node:path";
import { hasCode } from "@bulrush/base";
import { DatastoreError } from "../errors.ts";
import type { Problem } from "../problem.ts";

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
  readonly problems: readonly Problem[];
}

const MANIFEST = /\.(?:ya?ml|json)$/i;
const MAX_DEPTH = 16;

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
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
  const problems: Problem[] = [];
  const walk = async (absolute: string, path: string, ancestors: readonly string[]): Promise<void> => {
    const identity = identityOf(await fs.stat(absolute, { bigint: true }));
    if (ancestors.includes(identity)) return;
    directories.set(absolute, identity);
    const names = (await fs.readdir(absolute)).filter((name) => !name.startsWith(".")).sort(compareBytes);
    for (const name of names) {
      const child = path === "" ? name : `${path}/${name}`;
      const at = join(absolute, name);
      try {
        const stat = await fs.stat(at, { bigint: true });
        if (stat.isDirectory()) {
          if (ancestors.length < MAX_DEPTH) await walk(at, child, [...ancestors, identity]);
        } else if (stat.isFile() && MANIFEST.test(name)) {
          files.push({ path: child, absolute: at, stamp: stampOf(stat), bytes: Number(stat.size) });
        }
      } catch (error) {
        // Gone between the listing and the look: not there.
        if (!hasCode(error, "ENOENT")) problems.push(unreadable(child, error));
      }
    }
  };
  try {
    await walk(root, "", []);
  } catch (error) {
    throw asDatastoreError(root, error);
  }
  files.sort((a, b) => compareBytes(a.path, b.path));
  for (const { path } of files.splice(maxFiles)) {
    problems.push({
      severity: "error",
      message: `More than ${maxFiles} files`,
      source: { file: path, document: 0, line: 0 },
      effect: "ignored",
    });
  }
  return { files, directories, problems };
}

function identityOf(stat: BigIntStats): string {
  return `${stat.dev}:${stat.ino}`;
}

/** Of a file: what `stat` says of its identity, size and times. */
function stampOf(stat: BigIntStats): string {
  return `${identityOf(stat)}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

function unreadable(file: string, error: unknown): Problem {
  return {
    severity: "error",
    message: `Cannot read the file: ${error instanceof Error ? error.message : String(error)}`,
    source: { file, document: 0, line: 0 },
  };
}

/** An error of the file system, with the code that tells what is there. */
export function asDatastoreError(path: string, cause: unknown): DatastoreError {
  const isMissing = hasCode(cause, "ENOENT") || hasCode(cause, "ENOTDIR");
  const message = isMissing
    ? `Nothing at "${path}"`
    : `Cannot read "${path}": ${cause instanceof Error ? cause.message : String(cause)}`;
  return new DatastoreError(message, {
    code: isMissing ? "DATASTORE_NOT_FOUND" : "DATASTORE_FAILED",
    op: "Read manifests",
    cause,
    data: { path },
  });
}
