import { setImmediate as nextTurn } from "node:timers/promises";
import { assert, type Clock } from "@bulrush/base";
import type { Resource } from "@bulrush/model";
import type { FileDatastoreConfig } from "../config.ts";
import { resourceIdOf } from "../driver/apply.ts";
import type { DatastoreWriter, ResourceId, StoredListRequest, StoredResource } from "../driver/writer.ts";
import { datastoreCodeOf } from "../errors.ts";
import { DEFAULT_MAX_FILE_BYTES, DEFAULT_MAX_FILES } from "../manifest/read-file.ts";
import { DirectoryIndex } from "./write/directory-index.ts";
import { acquireLock, type FileLock } from "./write/file-lock.ts";
import { PendingFiles, asWriteError } from "./write/pending-files.ts";
import { removeLeftovers } from "./write/remove-leftovers.ts";
import { WriteSession } from "./write/write-session.ts";

const DEFAULT_LOCK_TIMEOUT_MS = 10_000;
/** Operations between two flushes. */
const BATCH_OPERATIONS = 256;
/** A session that goes on looks at the directory again, and lets other writers in. */
const SESSION_MAX_MS = 1000;
const PAGE_ITEMS = 500;

/** What an operation gives once its file, if it has one, is written. */
interface Answer<T> {
  readonly path?: string;
  readonly value: T;
}

interface Operation {
  readonly isWrite: boolean;
  run(session: WriteSession): Promise<Answer<unknown>>;
  resolve(value: never): void;
  reject(error: unknown): void;
}

export interface FileWriterOptions {
  readonly clock: Clock;
  /** How long to wait for another writer. Default 10 s. */
  readonly lockTimeoutMs?: number;
}

/**
 * Writes single resources into a directory of manifests. Operations that come together share one look at the directory,
 * one taking of the lock, and one writing of each file:
 *
 *     queue ─> session: lock (if it writes) ─> list files, read what changed ─> operations ─> write, sync, rename ─> unlock
 *                                                                    └──── batches, up to one second ────┘
 *
 * Invariant: sessions run one at a time; an operation is in `#queue` until it was run once, and is settled after the
 * flush that follows.
 */
export class FileWriter implements DatastoreWriter {
  readonly type = "file";
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #lockTimeoutMs: number;
  readonly #maxFiles: number;
  readonly #maxFileBytes: number;
  readonly #index: DirectoryIndex;
  #queue: Operation[] = [];
  #running: Promise<void> | undefined;

  constructor(config: FileDatastoreConfig, { clock, lockTimeoutMs = DEFAULT_LOCK_TIMEOUT_MS }: FileWriterOptions) {
    const { directory, maxFiles = DEFAULT_MAX_FILES, maxFileBytes = DEFAULT_MAX_FILE_BYTES } = config;
    this.#directory = directory;
    this.#clock = clock;
    this.#lockTimeoutMs = lockTimeoutMs;
    this.#maxFiles = maxFiles;
    this.#maxFileBytes = maxFileBytes;
    this.#index = new DirectoryIndex(directory, { maxFiles, maxFileBytes });
  }

  get(id: ResourceId, signal: AbortSignal): Promise<StoredResource | undefined> {
    return this.#read(signal, (session) => session.get(id));
  }

  async *list(request: StoredListRequest, signal: AbortSignal): AsyncIterable<readonly StoredResource[]> {
    const all = await this.#read(signal, (session) => session.list(request));
    for (let i = 0; i < all.length; i += PAGE_ITEMS) yield all.slice(i, i + PAGE_ITEMS);
  }

  create(resource: Resource, signal: AbortSignal): Promise<StoredResource> {
    return this.#write(signal, (session) => session.create(resource), resource);
  }

  update(resource: Resource, revision: string, signal: AbortSignal): Promise<StoredResource> {
    return this.#write(signal, (session) => session.update(resource, revision), resource);
  }

  async delete(id: ResourceId, revision: string | undefined, signal: AbortSignal): Promise<void> {
    await this.#enqueue(true, signal, async (session) => {
      const path = await session.remove(id, revision);
      return { path, value: undefined };
    });
  }

  async close(): Promise<void> {
    await this.#running;
  }

  #read<T>(signal: AbortSignal, read: (session: WriteSession) => T): Promise<T> {
    return this.#enqueue(false, signal, (session) => Promise.resolve({ value: read(session) }));
  }

  #write(
    signal: AbortSignal,
    write: (session: WriteSession) => Promise<string>,
    resource: Resource,
  ): Promise<StoredResource> {
    return this.#enqueue(true, signal, async (session) => {
      const path = await write(session);
      // As it stands now: a later operation of the same batch may change it again.
      const value = session.get(resourceIdOf(resource));
      assert(value !== undefined, "What was written can be found");
      return { path, value };
    });
  }

  async #enqueue<T>(
    isWrite: boolean,
    signal: AbortSignal,
    run: (session: WriteSession) => Promise<Answer<T>>,
  ): Promise<T> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const operation: Operation = { isWrite, run, resolve, reject };
    const abandon = (): void => this.#abandon(operation, signal);
    signal.addEventListener("abort", abandon);
    this.#queue.push(operation);
    this.#running ??= this.#runAll();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", abandon);
    }
  }

  /** One that was begun is finished. */
  #abandon(operation: Operation, signal: AbortSignal): void {
    const at = this.#queue.indexOf(operation);
    if (at < 0) return;
    this.#queue.splice(at, 1);
    operation.reject(signal.reason);
  }

  async #runAll(): Promise<void> {
    // Whoever calls several times in a row is served in one go.
    await nextTurn();
    while (this.#queue.length > 0) await this.#runSession();
    this.#running = undefined;
  }

  /** Never rejects: what goes wrong is the answer to the operations. */
  async #runSession(): Promise<void> {
    const isWrite = this.#queue.some((operation) => operation.isWrite);
    let lock: FileLock | undefined;
    try {
      if (isWrite) lock = await this.#lock();
      await this.#index.refresh();
    } catch (error) {
      const failed = this.#queue.splice(0);
      for (const operation of failed) operation.reject(asWriteError(this.#directory, error));
      await lock?.release().catch(() => {});
      return;
    }
    const endMs = this.#clock.monotonicMs() + SESSION_MAX_MS;
    let isFresh = true;
    while (isFresh && this.#clock.monotonicMs() < endMs) {
      const end = lock === undefined ? this.#queue.findIndex((operation) => operation.isWrite) : -1;
      const batch = this.#queue.splice(0, Math.min(BATCH_OPERATIONS, end < 0 ? Infinity : end));
      if (batch.length === 0) break;
      isFresh = await this.#runBatch(batch, lock);
      await nextTurn();
    }
    await lock?.release().catch(() => {});
  }

  /** False if the directory must be looked at again before anything else. */
  async #runBatch(batch: readonly Operation[], lock: FileLock | undefined): Promise<boolean> {
    const pending = new PendingFiles(this.#directory, this.#maxFileBytes);
    const session = new WriteSession({ index: this.#index, pending, maxFiles: this.#maxFiles });
    const done: { readonly operation: Operation; readonly answer: Answer<unknown> }[] = [];
    let isFresh = true;
    const reject = (operation: Operation, error: unknown): void => {
      if (datastoreCodeOf(error) === "DATASTORE_CONFLICT") isFresh = false;
      operation.reject(error);
    };
    for (const operation of batch) {
      try {
        done.push({ operation, answer: await operation.run(session) });
      } catch (error) {
        reject(operation, error);
      }
    }
    const { stamps, failures } = await pending.flush(async () => (await lock?.isHeld()) ?? false);
    for (const [path, stamp] of stamps) this.#index.setStamp(path, stamp);
    for (const path of failures.keys()) this.#index.forget(path);
    for (const { operation, answer } of done) {
      const failure = answer.path === undefined ? undefined : failures.get(answer.path);
      if (failure === undefined) operation.resolve(answer.value as never);
      else reject(operation, failure);
    }
    return isFresh && failures.size === 0;
  }

  async #lock(): Promise<FileLock> {
    const lock = await acquireLock(this.#directory, { clock: this.#clock, timeoutMs: this.#lockTimeoutMs });
    if (lock.wasAbandoned) await removeLeftovers(this.#directory, this.#clock.nowMs()).catch(() => {});
    return lock;
  }
}
