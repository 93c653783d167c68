import { promises as fs } from "node:fs";
import { basename } from "node:path";
import type { Problem } from "../problem.ts";
import { FILE_CALLS, inParallel } from "./in-parallel.ts";
import { asDatastoreError, listManifestFiles } from "./list-files.ts";
import { mergeManifests } from "./merge.ts";
import type { ParsedManifest } from "./parse.ts";
import {
  DEFAULT_MAX_FILE_BYTES,
  DEFAULT_MAX_FILES,
  failed,
  parseManifestBytes,
  readManifestFile,
} from "./read-file.ts";
import type { ManifestResource } from "./resource.ts";

/** Resources and what could not be read: a bad file, or object, takes no other away. */
export interface LoadedManifests {
  /** In order of path (bytes) and place; never two of one identity. */
  readonly resources: readonly ManifestResource[];
  readonly problems: readonly Problem[];
}

/** Bounds; what is over one is a problem, not an error. */
export interface LoadOptions {
  /** Default 16 MiB a file. */
  readonly maxFileBytes?: number;
  /** Default 20,000. */
  readonly maxFiles?: number;
  /** What "-" reads. Default: standard input. */
  readonly stdin?: AsyncIterable<Uint8Array>;
}

/**
 * Reads manifests once: a file, a directory (its `.yaml`, `.yml` and `.json` files, subdirectories too) or "-" for
 * standard input. What cannot be read is listed in `problems` and left out.
 *
 * @throws DatastoreError DATASTORE_NOT_FOUND if there is nothing at `path`, DATASTORE_FAILED if it cannot be read.
 */
export async function loadManifests(path: string, options: LoadOptions = {}): Promise<LoadedManifests> {
  const { maxFileBytes = DEFAULT_MAX_FILE_BYTES, maxFiles = DEFAULT_MAX_FILES } = options;
  const problems: Problem[] = [];
  const parsed: ParsedManifest[] = [];
  if (path === "-") parsed.push(await readStream(options.stdin ?? process.stdin, maxFileBytes));
  else if (await isDirectory(path)) {
    const found = await listManifestFiles(path, maxFiles);
    problems.push(...found.problems);
    await inParallel(found.files, FILE_CALLS, async ({ absolute, path: file }, i) => {
      parsed[i] = await readManifestFile(absolute, file, maxFileBytes);
    });
  } else parsed.push(await readManifestFile(path, basename(path), maxFileBytes));
  for (const file of parsed) problems.push(...file.problems);
  const merged = mergeManifests(parsed.map((file) => file.resources));
  return { resources: merged.resources, problems: [...problems, ...merged.problems] };
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await fs.stat(path)).isDirectory();
  } catch (error) {
    throw asDatastoreError(path, error);
  }
}

async function readStream(stream: AsyncIterable<Uint8Array>, maxBytes: number): Promise<ParsedManifest> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > maxBytes) return failed("-", `More than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return parseManifestBytes(Buffer.concat(chunks), "-");
}
