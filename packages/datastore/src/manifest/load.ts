import type { Resource } from "@bulrush/model";
import type { Problem, SourcePosition } from "../problem.ts";

/** One object of a manifest, with the defaults that an API server would have set. */
export interface ManifestResource {
  readonly resource: Resource;
  readonly source: SourcePosition;
}

export interface LoadedManifests {
  /** In order of path (bytes) and place; never two of one identity. */
  readonly resources: readonly ManifestResource[];
  readonly problems: readonly Problem[];
}

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
export function loadManifests(_path: string, _options: LoadOptions = {}): Promise<LoadedManifests> {
  return Promise.resolve({ resources: [], problems: [] });
}
