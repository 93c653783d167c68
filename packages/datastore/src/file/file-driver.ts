import { join } from "node:path";
import { type Clock, messageOf } from "@bulrush/base";
import type { Resource } from "@bulrush/model";
import type { FileDatastoreConfig } from "../config.ts";
import type { DatastoreContext } from "../driver/context.ts";
import type { DatastoreDriver, ListPage, ListRequest, WatchRequest, WatchStream } from "../driver/driver.ts";
import { DatastoreError } from "../errors.ts";
import { FILE_CALLS, inParallel } from "../manifest/in-parallel.ts";
import { type FoundFiles, listManifestFiles } from "../manifest/list-files.ts";
import { lookAgain } from "../manifest/look-again.ts";
import { storeItems } from "../manifest/items.ts";
import { mergeManifests } from "../manifest/merge.ts";
import { DEFAULT_MAX_FILE_BYTES, DEFAULT_MAX_FILES } from "../manifest/read-file.ts";
import { type ConvertedItem, toItem } from "../manifest/to-item.ts";
import { boundedProblems, formatProblem, type Problem } from "../problem.ts";
import { DirectoryWatcher } from "./directory-watcher.ts";
import { FileStore } from "./file-store.ts";
import { FileWatch } from "./file-watch.ts";
import { Hints } from "./hints.ts";
import { ManifestFiles } from "./manifest-files.ts";
import { ManifestReader } from "./manifest-reader.ts";
import { problemLog } from "./problem-log.ts";
import { ScanSchedule } from "./scan-schedule.ts";

const DEFAULT_RESCAN_INTERVAL_MS = 5000;
const DEFAULT_DEBOUNCE_MS = 20;
/** As a multiple of the debounce time. */
const REMOVAL_FACTOR = 5;
const PAGE_ITEMS = 500;
/** Of all files together. */
const MAX_PROBLEMS = 1000;

/**
 * A directory of manifests as a datastore.
 *
 *     fs.watch hints ─┐      (of hints: only what they name)
 *     every 5 s ──────┼─> scan: list files ─> read the changed, settled ones ─> merge ─> items ─> store ─> watches
 *     not settled ────┤        (a failed listing changes nothing)   │
 *     large one read ─┘ <────────────────── in a thread <───────────┘
 *
 * The state is that of the last complete scan. A directory that cannot be listed, a file that cannot be read: the last
 * good state stays, and `problems` says so.
 */
export class FileDriver implements DatastoreDriver {
  readonly type = "file";
  readonly usePodCIDR: boolean;
  readonly #config: FileDatastoreConfig;
  readonly #clock: Clock;
  readonly #logProblems: (problems: readonly Problem[]) => void;
  readonly #onProblems: ((problems: readonly Problem[]) => void) | undefined;
  readonly #store = new FileStore();
  readonly #files: ManifestFiles;
  readonly #reader: ManifestReader;
  readonly #watcher: DirectoryWatcher;
  readonly #schedule: ScanSchedule;
  readonly #items = new WeakMap<object, ConvertedItem | undefined>();
  readonly #hints = new Hints();
  readonly #rescanIntervalMs: number;
  /** The last listing and what was looked at since, and when it was; undefined while the directory cannot be listed. */
  #found: FoundFiles | undefined;
  #listedMs = 0;
  /** The version of `#files` that the store holds, and what is wrong with it. */
  #stored: { readonly version: number; readonly problems: readonly Problem[] } | undefined;
  #problems: readonly Problem[] = [];
  #scanError: DatastoreError | undefined;
  #hasScanned = false;

  constructor(config: FileDatastoreConfig, context: DatastoreContext) {
    this.#config = config;
    this.usePodCIDR = config.usePodCIDR ?? false;
    this.#clock = context.clock;
    this.#logProblems = problemLog(context.logger);
    this.#onProblems = context.onProblems;
    const { debounceMs = DEFAULT_DEBOUNCE_MS, rescanIntervalMs = DEFAULT_RESCAN_INTERVAL_MS } = config;
    this.#files = new ManifestFiles({ settleMs: debounceMs, removalMs: debounceMs * REMOVAL_FACTOR });
    this.#schedule = new ScanSchedule(this.#clock, { debounceMs, rescanIntervalMs }, () => this.#scan());
    this.#rescanIntervalMs = rescanIntervalMs;
    this.#watcher = new DirectoryWatcher((path) => {
      if (this.#hints.add(path)) this.#schedule.hint();
    });
    const { maxFileBytes = DEFAULT_MAX_FILE_BYTES } = config;
    this.#reader = new ManifestReader({ clock: this.#clock, maxFileBytes, onReady: () => this.#schedule.hint() });
  }

  /** The first scan; whether it found anything is for `list` to say. */
  async start(): Promise<void> {
    await this.#schedule.start();
  }

  async *list({ kind, revision, signal, name, namespace }: ListRequest): AsyncIterable<ListPage> {
    await this.#schedule.start();
    signal.throwIfAborted();
    if (!this.#hasScanned && this.#scanError !== undefined) throw this.#scanError;
    if (Number(revision) > Number(this.#store.revision)) {
      throw new DatastoreError(`Revision ${revision} is not reached yet`, { code: "DATASTORE_REVISION_TOO_LARGE" });
    }
    const at = this.#store.revision;
    const items = this.#store
      .list(kind)
      .filter(
        (item) =>
          (name === undefined || item.name === name) && (namespace === undefined || item.namespace === namespace),
      );
    for (let i = 0; i === 0 || i < items.length; i += PAGE_ITEMS)
      yield { items: items.slice(i, i + PAGE_ITEMS), revision: at };
  }

  watch(request: WatchRequest): Promise<WatchStream> {
    return Promise.resolve(new FileWatch(this.#store, request));
  }

  async probe(): Promise<void> {
    await this.#schedule.start();
    if (this.#scanError !== undefined) throw this.#scanError;
  }

  problems(): readonly Problem[] {
    return this.#problems;
  }

  async close(): Promise<void> {
    this.#watcher.close();
    this.#reader.close();
    await this.#schedule.stop();
  }

  /** Reads what has changed. Returns when to look again for files that are still being written. */
  async #scan(): Promise<number | undefined> {
    let found: FoundFiles;
    try {
      found = this.#found = await this.#find();
    } catch (error) {
      this.#found = undefined;
      this.#scanFailed(error);
      return undefined;
    }
    this.#scanError = undefined;
    this.#watcher.follow(found.directories);
    const { read, againMs } = this.#files.update(found.files, this.#clock.monotonicMs(), found.unreadable);
    this.#reader.retain(new Set(found.files.map(({ path }) => path)));
    await inParallel(read, FILE_CALLS, async (file) => {
      // The first state is a whole one.
      const parsed = await this.#reader.read(file, !this.#hasScanned);
      if (parsed === undefined) this.#files.postpone(file);
      else this.#files.setContents(file, parsed);
    });
    const problems = this.#update();
    this.#hasScanned = true;
    this.#setProblems(boundedProblems([...found.problems, ...problems], MAX_PROBLEMS));
    return againMs;
  }

  /** Looks at what may have changed; at everything where that is not known, and from time to time. */
  async #find(): Promise<FoundFiles> {
    const { directory, maxFiles = DEFAULT_MAX_FILES } = this.#config;
    const hints = this.#hints.take();
    const isOld = this.#clock.monotonicMs() - this.#listedMs >= this.#rescanIntervalMs;
    if (hints !== undefined && this.#found !== undefined && !isOld) {
      const waiting = [...this.#files.waiting].map((path) => join(directory, path));
      const found = await lookAgain(directory, this.#found, hints, waiting);
      if (found !== undefined && found.files.length <= maxFiles) return found;
    }
    this.#listedMs = this.#clock.monotonicMs();
    return listManifestFiles(directory, maxFiles);
  }

  /** Makes the store hold what the files say. Returns what is wrong with them; nothing is done where nothing changed. */
  #update(): readonly Problem[] {
    const { version } = this.#files;
    if (this.#stored?.version === version) return this.#stored.problems;
    const merged = mergeManifests(this.#files.contents());
    const { items, problems } = storeItems(merged.resources, (resource) => this.#itemOf(resource));
    this.#store.replaceAll(items);
    this.#stored = { version, problems: [...this.#files.problems(), ...merged.problems, ...problems] };
    return this.#stored.problems;
  }

  #scanFailed(error: unknown): void {
    const message = messageOf(error);
    this.#scanError = new DatastoreError(message, {
      code: "DATASTORE_FAILED",
      op: "List manifests",
      cause: error,
      data: { directory: this.#config.directory },
    });
    const source = { file: this.#config.directory, document: 0, line: 0 };
    const effect = this.#hasScanned ? "the last good contents stay in force" : "nothing is known";
    const own: Problem = { severity: "error", message, source, effect };
    this.#setProblems([own, ...this.#files.problems()]);
  }

  /** Files that did not change give the same resource objects again. */
  #itemOf(resource: Resource): ConvertedItem | undefined {
    if (this.#items.has(resource)) return this.#items.get(resource);
    const { interfacePrefix } = this.#config;
    const conversion = { usePodCIDR: this.usePodCIDR, ...(interfacePrefix !== undefined && { interfacePrefix }) };
    const item = toItem(resource, conversion);
    this.#items.set(resource, item);
    return item;
  }

  #setProblems(problems: readonly Problem[]): void {
    const before = new Set(this.#problems.map(formatProblem));
    if (problems.length === before.size && problems.every((problem) => before.has(formatProblem(problem)))) return;
    this.#problems = problems;
    this.#logProblems(problems);
    this.#onProblems?.(problems);
  }
}
