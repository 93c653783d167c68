import { promises as fs } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "@bulrush/base";
import { DatastoreError, type DatastoreErrorCode } from "../../errors.ts";
import { stampOf } from "../../manifest/list-files.ts";
import { ignoreMissing, type Prepared, prepareFile, syncDirectory } from "./atomic-write.ts";

interface Pending {
  /** Where the bytes are: a link is followed, and stays. */
  readonly target: string;
  /** Of the file that the new text was made from; undefined if there was none. */
  readonly stamp: string | undefined;
  /** What the file is to hold; undefined: it is to go. */
  text: string | undefined;
  isChanged: boolean;
}

/** What became of the files of one flush, by path. */
export interface Flushed {
  /** Of the ones that were written; undefined for removed ones. */
  readonly stamps: ReadonlyMap<string, string | undefined>;
  readonly failures: ReadonlyMap<string, DatastoreError>;
}

/**
 * Files as they are to become. Changes pile up per file, and each file is written once.
 *
 * Invariant: an entry is the file with that stamp, as read since the last `flush`, with all changes asked for.
 */
export class PendingFiles {
  readonly #directory: string;
  readonly #maxFileBytes: number;
  readonly #pending = new Map<string, Pending>();

  constructor(directory: string, maxFileBytes: number) {
    this.#directory = directory;
    this.#maxFileBytes = maxFileBytes;
  }

  /** The file as it stands with what is pending; undefined if there is none. */
  async read(path: string): Promise<string | undefined> {
    return (await this.#entry(path)).text;
  }

  /** Of the file on the disk, as it was read; undefined if there was none or it was not read yet. */
  stampOf(path: string): string | undefined {
    return this.#pending.get(path)?.stamp;
  }

  /** What the file is to hold from the next flush on; undefined: nothing, it goes. */
  async set(path: string, text: string | undefined): Promise<void> {
    if (text !== undefined && Buffer.byteLength(text) > this.#maxFileBytes) {
      const message = `"${path}" would have more than ${this.#maxFileBytes} bytes`;
      throw new DatastoreError(message, { code: "DATASTORE_INVALID", op: "Write manifests", data: { path } });
    }
    const pending = await this.#entry(path);
    pending.text = text;
    pending.isChanged = true;
  }

  /**
   * Writes everything. A file of which somebody else made another one meanwhile is left as it is: DATASTORE_CONFLICT.
   * `mayCommit` is asked when all bytes are on the disk, before the first file takes its place.
   */
  async flush(mayCommit: () => Promise<boolean>): Promise<Flushed> {
    const failures = new Map<string, DatastoreError>();
    const stamps = new Map<string, string | undefined>();
    const entries = [...this.#pending].filter(([, { isChanged }]) => isChanged);
    this.#pending.clear();
    if (entries.length === 0) return { stamps, failures };
    const attempt = async (path: string, work: () => Promise<void>): Promise<void> => {
      try {
        if (!failures.has(path)) await work();
      } catch (error) {
        failures.set(path, asWriteError(path, error));
      }
    };
    const prepared = new Map<string, Prepared>();
    const directories = new Set<string>();
    const prepare = async (path: string, { target, text }: Pending): Promise<void> => {
      if (text === undefined) return;
      const made = await fs.mkdir(dirname(target), { recursive: true });
      if (made !== undefined) directories.add(dirname(made));
      prepared.set(path, await prepareFile(target, text));
    };
    await Promise.all(entries.map(([path, pending]) => attempt(path, () => prepare(path, pending))));
    if (!(await mayCommit())) {
      const lost = new DatastoreError("Another writer took the lock away", { code: "DATASTORE_CONFLICT" });
      for (const [path] of entries) failures.set(path, lost);
    }
    for (const [path, { target, stamp, text }] of entries) {
      await attempt(path, async () => {
        if ((await stampAt(target)) !== stamp) throw changedMeanwhile(path);
        if (text === undefined) await fs.rm(join(this.#directory, path), { force: true });
        else await prepared.get(path)?.commit();
        directories.add(text === undefined ? dirname(join(this.#directory, path)) : dirname(target));
        stamps.set(path, text === undefined ? undefined : await stampAt(target));
      });
      if (failures.has(path)) await prepared.get(path)?.discard();
    }
    for (const directory of directories) {
      try {
        await syncDirectory(directory);
      } catch (error) {
        // It cannot be said of which files the new state would outlive a loss of power.
        for (const [path] of entries) failures.set(path, asWriteError(path, error));
      }
    }
    return { stamps, failures };
  }

  async #entry(path: string): Promise<Pending> {
    let pending = this.#pending.get(path);
    if (pending === undefined) this.#pending.set(path, (pending = await this.#open(path)));
    return pending;
  }

  async #open(path: string): Promise<Pending> {
    const at = join(this.#directory, path);
    try {
      const target = (await fs.realpath(at).catch(ignoreMissing)) ?? at;
      for (;;) {
        const stamp = await stampAt(target);
        if (stamp === undefined) return { target, stamp, text: undefined, isChanged: false };
        const text = new TextDecoder("utf-8", { fatal: true }).decode(await fs.readFile(target));
        if ((await stampAt(target)) === stamp) return { target, stamp, text, isChanged: false };
      }
    } catch (error) {
      throw asWriteError(path, error);
    }
  }
}

/** Somebody who does not take the lock (an editor, git) wrote the file: the caller reads again. */
export function changedMeanwhile(path: string): DatastoreError {
  const message = `"${path}" was changed by somebody else meanwhile`;
  return new DatastoreError(message, { code: "DATASTORE_CONFLICT", op: "Write manifests", data: { path } });
}

async function stampAt(path: string): Promise<string | undefined> {
  const stat = await fs.stat(path, { bigint: true }).catch(ignoreMissing);
  return stat === undefined ? undefined : stampOf(stat);
}

const CODES: Readonly<Record<string, DatastoreErrorCode>> = {
  EACCES: "DATASTORE_UNAUTHORIZED",
  EPERM: "DATASTORE_UNAUTHORIZED",
  EROFS: "DATASTORE_UNAUTHORIZED",
  ENOENT: "DATASTORE_NOT_FOUND",
};

/** An error of the file system as one of the datastore. */
export function asWriteError(path: string, cause: unknown): DatastoreError {
  if (cause instanceof DatastoreError) return cause;
  const errno = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return new DatastoreError(`Cannot write "${path}": ${messageOf(cause)}`, {
    code: CODES[errno] ?? "DATASTORE_FAILED",
    op: "Write manifests",
    cause,
    data: { path },
  });
}
