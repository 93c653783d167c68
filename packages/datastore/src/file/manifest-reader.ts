import type { Clock } from "@bulrush/base";
import type { FoundFile } from "../manifest/list-files.ts";
import type { ParsedManifest } from "../manifest/parse.ts";
import { readManifestFile } from "../manifest/read-file.ts";
import { readInThread } from "../manifest/read-in-thread.ts";

export interface ManifestReaderOptions {
  readonly clock: Clock;
  readonly maxFileBytes: number;
  /** A file that was not ready when it was asked for has been read. */
  readonly onReady: () => void;
  /** A larger file is read in a thread of its own. Default 64 KiB. */
  readonly inlineBytes?: number;
  /** What such a file may take. Default two minutes. */
  readonly timeoutMs?: number;
  /** Heap of the thread. Default 1 GiB. */
  readonly maxHeapMiB?: number;
}

const INLINE_BYTES = 64 * 1024;
const TIMEOUT_MS = 120_000;
const MAX_HEAP_MIB = 1024;

interface Reading {
  readonly stamp: string;
  readonly abort: AbortController;
  readonly parsed: Promise<ParsedManifest>;
  isDone: boolean;
}

/**
 * Reads the files of a directory. Small ones at once; large ones in a thread, one after the other, so that no file holds
 * up the others or the rest of the process.
 *
 * Invariant: `#readings` has an entry for each large file from the first `read` until its contents were fetched; no
 * two of them are in a thread at the same time.
 */
export class ManifestReader {
  readonly #options: ManifestReaderOptions;
  readonly #readings = new Map<string, Reading>();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: ManifestReaderOptions) {
    this.#options = options;
  }

  /** What the file holds. Undefined while a large one is being read, unless `wait` is set: ask again at `onReady`. */
  async read(file: FoundFile, wait: boolean): Promise<ParsedManifest | undefined> {
    const { inlineBytes = INLINE_BYTES, maxFileBytes } = this.#options;
    if (file.bytes <= inlineBytes || file.bytes > maxFileBytes) {
      this.#forget(file.path);
      return readManifestFile(file.absolute, file.path, maxFileBytes);
    }
    let reading = this.#readings.get(file.path);
    if (reading?.stamp !== file.stamp) {
      this.#forget(file.path);
      reading = this.#start(file);
    }
    if (!wait && !reading.isDone) return undefined;
    const parsed = await reading.parsed;
    this.#forget(file.path);
    return parsed;
  }

  /** Gives up what is read of files that are not there any more. */
  retain(paths: ReadonlySet<string>): void {
    for (const path of this.#readings.keys()) if (!paths.has(path)) this.#forget(path);
  }

  close(): void {
    this.retain(new Set());
  }

  #start(file: FoundFile): Reading {
    const { clock, maxFileBytes, onReady, timeoutMs = TIMEOUT_MS, maxHeapMiB = MAX_HEAP_MIB } = this.#options;
    const abort = new AbortController();
    const request = { absolute: file.absolute, file: file.path, maxBytes: maxFileBytes };
    const bounds = { clock, timeoutMs, maxHeapMiB, signal: abort.signal };
    const parsed = this.#queue.then(() => readInThread(request, bounds));
    this.#queue = parsed;
    const reading: Reading = { stamp: file.stamp, abort, parsed, isDone: false };
    this.#readings.set(file.path, reading);
    void parsed.then(() => {
      reading.isDone = true;
      if (!abort.signal.aborted) onReady();
    });
    return reading;
  }

  #forget(path: string): void {
    this.#readings.get(path)?.abort.abort();
    this.#readings.delete(path);
  }
}
