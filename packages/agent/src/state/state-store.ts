import { type FileHandle, mkdir, open, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type CancelTimer, type Clock, hasCode, messageOf, must } from "@bulrush/base";
import type { Update } from "@bulrush/model";
import type { Logger } from "@bulrush/service";
import {
  BASE_FILE,
  deltaRecord,
  endRecord,
  headerRecord,
  journalName,
  journalsIn,
  readBase,
  readJournal,
  type StateHeader,
  snapshotRecord,
} from "./state-files.ts";
import { recordsOf } from "./split-records.ts";

export interface StateStoreOptions {
  /** Made when missing, for this user alone. */
  readonly directory: string;
  readonly hostname: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A journal over this, and over half of the base, is merged into a new base. Default 4 MiB. */
  readonly minJournalBytes?: number;
}

/** How the store stands, for health and metrics. */
export interface StateReport {
  /** False: nothing is kept, as `detail` says. */
  readonly saving: boolean;
  readonly detail: string;
  readonly bytes: number;
}

const TEMPORARY_FILE = `${BASE_FILE}.tmp`;
/** What waits to be written: a disk that hangs costs no more memory. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024;
const MAX_BASE_BYTES = 2 * 1024 * 1024 * 1024;
const DEFAULT_MIN_JOURNAL_BYTES = 4 * 1024 * 1024;
/** How much a power failure may cost. */
const SYNC_INTERVAL_MS = 1000;

/**
 * Keeps what the graph holds on disk, so that a host that starts while everything above it is down has its policy.
 *
 * ```
 *  begin() ─> base.tmp ─> whole, fsync, rename ─> base (g)          append() ─> journal.g, fdatasync each second
 *                                                    │                              │ too long
 *                                                    └── + journal.g ── merge ──────┘─> base (g+1), journal.g+1
 * ```
 *
 * A write that fails ends the keeping: an old state that looks new must not be found, so the files go, and the report
 * says why. The next start begins anew. One agent a directory: the last one that starts has it.
 *
 * Invariant: what the files hold is a prefix of what `begin` and `append` were given. `#work` runs one after the other.
 */
export class StateStore {
  readonly #options: StateStoreOptions;
  #work: Promise<void> = Promise.resolve();
  #journal: FileHandle | undefined;
  /** The base that is being written. */
  #base: FileHandle | undefined;
  #generation = 0;
  #sequence = 0;
  #baseBytes = 0;
  #journalBytes = 0;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #flushQueued = false;
  /** What is appended now belongs after the base that is being written. */
  #isBeginning = false;
  #dirty = false;
  #broken: string | undefined = "nothing was saved yet";
  #cancelSync: CancelTimer | undefined;

  constructor(options: StateStoreOptions) {
    this.#options = options;
  }

  report(): StateReport {
    const bytes = this.#baseBytes + this.#journalBytes;
    if (this.#broken !== undefined) return { saving: false, detail: this.#broken, bytes: 0 };
    return { saving: true, detail: `saved in ${this.#options.directory}`, bytes };
  }

  /**
   * What an earlier process saved, in order: hand it to something that keeps the newest of each key. Undefined: nothing of
   * use, and what `take` got is to be forgotten. Only before `begin` and `resume`.
   */
  async read(take: (updates: readonly Update[]) => void): Promise<{ readonly atMs: number } | undefined> {
    const { directory, logger } = this.#options;
    try {
      const { atMs, generation, sequence } = await this.#readFiles(take);
      this.#generation = generation;
      this.#sequence = sequence;
      this.#baseBytes = (await stat(join(directory, BASE_FILE))).size;
      return { atMs };
    } catch (error) {
      if (!hasCode(error, "ENOENT"))
        logger.warn("The saved state is of no use", { directory, reason: messageOf(error) });
      return undefined;
    }
  }

  /** What this process has saved, all of it. False: it cannot be had, as {@link report} says. */
  async readAgain(take: (updates: readonly Update[]) => void): Promise<boolean> {
    await this.#run(async () => {
      await this.#flush();
      await this.#readFiles(take);
    });
    return this.#broken === undefined;
  }

  async #readFiles(
    take: (updates: readonly Update[]) => void,
  ): Promise<{ readonly atMs: number; readonly generation: number; readonly sequence: number }> {
    const { directory, hostname } = this.#options;
    const base = await readBase(directory);
    if (base === undefined) throw new Error("the base is not of this version");
    if (base.header.hostname !== hostname) {
      await base.close();
      throw new Error(`it is of another host, ${base.header.hostname}`);
    }
    let { atMs, generation, sequence } = base.header;
    let step = await base.slices.next();
    for (; step.done !== true; step = await base.slices.next()) take(step.value);
    if (!step.value) throw new Error("the base is damaged");
    let next = generation;
    for (const one of await journalsIn(directory)) {
      if (one < next) continue;
      if (one > next) break;
      for await (const slice of readJournal(directory, one, sequence)) {
        take(slice.updates);
        ({ sequence, atMs } = slice);
      }
      generation = one;
      next = one + 1;
    }
    return { atMs, generation, sequence };
  }

  /** Goes on after what `read` gave, which is still all that is held. */
  resume(): Promise<void> {
    const sequence = this.#sequence;
    this.#broken = undefined;
    return this.#run(async () => {
      this.#generation++;
      await this.#openJournal(sequence);
    });
  }

  /** Saves everything anew: call `write` with all of it, then `done`. What is appended before `done` comes after it. */
  begin(): { write(updates: readonly Update[]): Promise<void>; done(): Promise<void> } {
    const { directory, clock, hostname, logger } = this.#options;
    const sequence = this.#sequence;
    let count = 0;
    const before = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#isBeginning = true;
    this.#broken = undefined;
    void this.#run(async () => {
      await this.#journal?.write(Buffer.concat(before));
      await this.#journal?.close();
      this.#journal = undefined;
      await mkdir(directory, { recursive: true, mode: 0o700 });
      this.#generation = Math.max(this.#generation, ...(await journalsIn(directory))) + 1;
      await this.#base?.close();
      this.#base = await open(join(directory, TEMPORARY_FILE), "w", 0o600);
      const header = { hostname, generation: this.#generation, sequence, atMs: clock.nowMs() };
      await this.#base.write(headerRecord(header));
    });
    return {
      write: (updates) =>
        this.#run(async () => {
          const kept = updates.filter(({ value }) => value !== undefined);
          for (const record of recordsOf(kept, snapshotRecord)) await this.#base?.write(record);
          count += kept.length;
        }),
      done: () =>
        this.#run(async () => {
          const base = must(this.#base, "a base that is being written");
          await base.write(endRecord(count));
          this.#base = undefined;
          await this.#settleBase(base);
          this.#isBeginning = false;
          await this.#openJournal(sequence);
          logger.info("The state is saved", { directory, keys: count, bytes: this.#baseBytes });
        }),
    };
  }

  /** Saves changes, soon. In order; after {@link begin} or {@link resume}. */
  append(updates: readonly Update[]): void {
    if (this.#broken !== undefined || updates.length === 0) return;
    try {
      for (const record of recordsOf(updates, (part) => {
        this.#sequence++;
        return deltaRecord(this.#sequence, part, this.#options.clock.nowMs());
      })) {
        this.#pending.push(record);
        this.#pendingBytes += record.length;
      }
    } catch (error) {
      void this.#run(() => Promise.reject(error as Error));
      return;
    }
    if (this.#pendingBytes > MAX_PENDING_BYTES)
      void this.#run(() => Promise.reject(new Error(`${this.#pendingBytes} bytes wait for the disk`)));
    if (this.#flushQueued) return;
    this.#flushQueued = true;
    void this.#run(() => this.#flush());
  }

  /** Resolves when everything that was appended is in the files, as far as another process sees. */
  flush(): Promise<void> {
    return this.#run(() => this.#flush());
  }

  /** Flushes and closes; the files stay. */
  async close(): Promise<void> {
    this.#cancelSync?.();
    await this.#run(async () => {
      await this.#flush();
      await this.#journal?.datasync();
      await this.#journal?.close();
      await this.#base?.close();
      this.#journal = this.#base = undefined;
    });
  }

  /** One after the other; the first failure ends the keeping. */
  #run(task: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(async () => {
      if (this.#broken !== undefined) return;
      await task().catch((error: unknown) => this.#break(error));
    });
    return this.#work;
  }

  async #break(error: unknown): Promise<void> {
    const { directory, logger } = this.#options;
    this.#broken = `the state cannot be saved: ${messageOf(error)}`;
    logger.error("Cannot save the state, this host will not start without its sources", { directory, error });
    this.#pending = [];
    this.#pendingBytes = 0;
    await this.#journal?.close().catch(() => {});
    this.#journal = undefined;
    await unlink(join(directory, BASE_FILE)).catch(() => {});
  }

  async #flush(): Promise<void> {
    this.#flushQueued = false;
    const pending = this.#pending;
    if (this.#journal === undefined || this.#isBeginning || pending.length === 0) return;
    this.#pending = [];
    this.#pendingBytes = 0;
    const bytes = Buffer.concat(pending);
    await this.#journal.write(bytes);
    this.#journalBytes += bytes.length;
    this.#dirty = true;
    this.#cancelSync ??= this.#options.clock.after(SYNC_INTERVAL_MS, () => {
      this.#cancelSync = undefined;
      void this.#run(() => this.#sync());
    });
    if (this.#journalBytes > Math.max(this.#options.minJournalBytes ?? DEFAULT_MIN_JOURNAL_BYTES, this.#baseBytes / 2))
      await this.#merge();
  }

  async #sync(): Promise<void> {
    if (!this.#dirty) return;
    this.#dirty = false;
    await this.#journal?.datasync();
  }

  /** Journals into a new base: the newest of each key of the journals, and of the base what they do not have. */
  async #merge(): Promise<void> {
    const { directory, hostname, clock } = this.#options;
    const base = await readBase(directory);
    if (base === undefined) throw new Error("the base has gone");
    const newest = new Map<string, Update>();
    let { sequence } = base.header;
    for (let one = base.header.generation; one <= this.#generation; one++)
      for await (const slice of readJournal(directory, one, sequence)) {
        for (const update of slice.updates) newest.set(update.path, update);
        ({ sequence } = slice);
      }
    this.#generation++;
    const header: StateHeader = { hostname, generation: this.#generation, sequence, atMs: clock.nowMs() };
    const file = await open(join(directory, TEMPORARY_FILE), "w", 0o600);
    let count = 0;
    const write = async (updates: readonly Update[]): Promise<void> => {
      for (const record of recordsOf(updates, snapshotRecord)) await file.write(record);
      count += updates.length;
    };
    await file.write(headerRecord(header));
    for await (const slice of base.slices) await write(slice.filter(({ path }) => !newest.has(path)));
    await write([...newest.values()].filter(({ value }) => value !== undefined));
    await file.write(endRecord(count));
    await this.#settleBase(file);
    await this.#journal?.close();
    this.#journal = undefined;
    await this.#openJournal(sequence);
  }

  async #settleBase(file: FileHandle): Promise<void> {
    const { directory } = this.#options;
    const { size } = await file.stat();
    if (size > MAX_BASE_BYTES) throw new Error(`the state has ${size} bytes`);
    await file.sync();
    await file.close();
    await rename(join(directory, TEMPORARY_FILE), join(directory, BASE_FILE));
    this.#baseBytes = size;
    for (const generation of await journalsIn(directory))
      if (generation < this.#generation) await unlink(join(directory, journalName(generation)));
  }

  async #openJournal(sequence: number): Promise<void> {
    const { directory, hostname, clock } = this.#options;
    const path = join(directory, journalName(this.#generation));
    // Another agent that still has the old one writes on in a file without a name.
    await unlink(path).catch(() => {});
    this.#journal = await open(path, "wx", 0o600);
    const header = headerRecord({ hostname, generation: this.#generation, sequence, atMs: clock.nowMs() });
    await this.#journal.write(header);
    this.#journalBytes = header.length;
    await this.#flush();
  }
}
