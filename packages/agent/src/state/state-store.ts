import { type FileHandle, mkdir, open, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type CancelTimer, type Clock, hasCode, messageOf, must } from "@bulrush/base";
import type { Update } from "@bulrush/model";
import type { Logger } from "@bulrush/service";
import {
  BASE_FILE,
  type BaseReader,
  deltaRecord,
  endRecord,
  headerRecord,
  journalName,
  journalsIn,
  readBase,
  readJournals,
  type StateHeader,
  snapshotRecord,
} from "./state-files.ts";
import { recordsOf } from "./split-records.ts";
import { writeAll } from "./write-all.ts";

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
/** What waits to be written and what is being written: a disk that hangs costs no more memory. */
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
 * Invariant: what the files hold is a prefix of what `begin` and `append` were given. `#work` runs one after the other. The
 * numbers of the deltas have no gap: `#sequence` is the last that was made, `#written` the last in the files.
 */
export class StateStore {
  readonly #options: StateStoreOptions;
  #work: Promise<void> = Promise.resolve();
  #journal: FileHandle | undefined;
  /** The base that is being written. */
  #base: FileHandle | undefined;
  #generation = 0;
  #sequence = 0;
  #written = 0;
  #baseBytes = 0;
  #journalBytes = 0;
  #pending: Buffer[] = [];
  /** What belongs before the base that is about to be written. */
  #before: Buffer[] = [];
  /** Of both. */
  #pendingBytes = 0;
  /** In the hands of the file system. */
  #writingBytes = 0;
  #flushQueued = false;
  /** What is appended now belongs after the base that is being written. */
  #isBeginning = false;
  #dirty = false;
  #broken: string | undefined = "nothing was saved yet";
  /** What was queued before a failure is not done after it. */
  #failures = 0;
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
    const atLeast = this.#sequence;
    await this.#run(async () => {
      await this.#flush();
      const { sequence } = await this.#readFiles(take);
      if (sequence !== this.#written || sequence < atLeast)
        throw new Error(`of ${Math.max(this.#written, atLeast)} changes ${sequence} can be read`);
    });
    return this.#broken === undefined;
  }

  async #readFiles(
    take: (updates: readonly Update[]) => void,
  ): Promise<{ readonly atMs: number; readonly generation: number; readonly sequence: number }> {
    const { directory, hostname, logger } = this.#options;
    const base = await readBase(directory);
    if (base === undefined) throw new Error("the base is not of this version");
    if (base.header.hostname !== hostname) {
      await base.close();
      throw new Error(`it is of another host, ${base.header.hostname}`);
    }
    let { atMs, sequence } = base.header;
    let step = await base.slices.next();
    for (; step.done !== true; step = await base.slices.next()) take(step.value);
    if (!step.value) throw new Error("the base is damaged");
    const slices = readJournals(directory, base.header);
    let journals = await slices.next();
    for (; journals.done !== true; journals = await slices.next()) {
      take(journals.value.updates);
      ({ sequence, atMs } = journals.value);
    }
    const { generation, outOfOrder } = journals.value;
    if (outOfOrder.length > 0)
      logger.warn("Journals of the saved state do not join on", { directory, journals: outOfOrder.map(journalName) });
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
    this.#before = [...this.#before, ...this.#pending];
    this.#pending = [];
    this.#isBeginning = true;
    this.#broken = undefined;
    void this.#run(async () => {
      const before = this.#before;
      this.#before = [];
      await this.#write(this.#journal, before);
      await this.#journal?.close();
      this.#journal = undefined;
      await mkdir(directory, { recursive: true, mode: 0o700 });
      this.#generation = Math.max(this.#generation, ...(await journalsIn(directory))) + 1;
      await this.#base?.close();
      this.#base = await open(join(directory, TEMPORARY_FILE), "w", 0o600);
      const header = { hostname, generation: this.#generation, sequence, atMs: clock.nowMs() };
      await writeAll(this.#base, [headerRecord(header)]);
    });
    return {
      write: (updates) =>
        this.#run(async () => {
          const kept = updates.filter(({ value }) => value !== undefined);
          if (this.#base !== undefined) await writeAll(this.#base, recordsOf(kept, snapshotRecord));
          count += kept.length;
        }),
      done: () =>
        this.#run(async () => {
          const base = must(this.#base, "a base that is being written");
          await writeAll(base, [endRecord(count)]);
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
      const records = recordsOf(updates, (part) => {
        const record = deltaRecord(this.#sequence + 1, part, this.#options.clock.nowMs());
        // Only now: a part that is too big is made again as two.
        this.#sequence++;
        return record;
      });
      for (const record of records) this.#pending.push(record);
      this.#pendingBytes += bytesOf(records);
      const bytes = this.#pendingBytes + this.#writingBytes;
      if (bytes > MAX_PENDING_BYTES) throw new Error(`${bytes} bytes wait for the disk`);
    } catch (error) {
      // At once: what is queued may wait for ever for a disk that hangs.
      this.#fail(error);
      this.#work = this.#work.then(() => this.#takeAway());
      return;
    }
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
    if (this.#broken !== undefined) return this.#work;
    const failures = this.#failures;
    this.#work = this.#work.then(async () => {
      if (this.#failures !== failures) return;
      try {
        await task();
      } catch (error) {
        this.#fail(error);
        await this.#takeAway();
      }
    });
    return this.#work;
  }

  /** Nothing is kept from now on. */
  #fail(error: unknown): void {
    if (this.#broken !== undefined) return;
    const { directory, logger } = this.#options;
    this.#failures++;
    this.#broken = `the state cannot be saved: ${messageOf(error)}`;
    logger.error("Cannot save the state, this host will not start without its sources", { directory, error });
    this.#pending = [];
    this.#before = [];
    this.#pendingBytes = 0;
    this.#flushQueued = false;
  }

  /** After a failure, in its turn. */
  async #takeAway(): Promise<void> {
    const { directory } = this.#options;
    await this.#journal?.close().catch(() => {});
    await this.#base?.close().catch(() => {});
    this.#journal = this.#base = undefined;
    for (const name of [BASE_FILE, TEMPORARY_FILE]) await unlink(join(directory, name)).catch(() => {});
  }

  async #flush(): Promise<void> {
    this.#flushQueued = false;
    const pending = this.#pending;
    if (this.#journal === undefined || this.#isBeginning || pending.length === 0) return;
    const sequence = this.#sequence;
    this.#pending = [];
    this.#journalBytes += await this.#write(this.#journal, pending);
    this.#written = sequence;
    this.#dirty = true;
    this.#cancelSync ??= this.#options.clock.after(SYNC_INTERVAL_MS, () => {
      this.#cancelSync = undefined;
      void this.#run(() => this.#sync());
    });
    if (this.#journalBytes > Math.max(this.#options.minJournalBytes ?? DEFAULT_MIN_JOURNAL_BYTES, this.#baseBytes / 2))
      await this.#merge();
  }

  /** Records that waited, into a journal; without one they are of no use any more. Returns how many bytes they have. */
  async #write(journal: FileHandle | undefined, records: readonly Buffer[]): Promise<number> {
    const bytes = bytesOf(records);
    this.#pendingBytes -= bytes;
    this.#writingBytes += bytes;
    try {
      if (journal !== undefined) await writeAll(journal, records);
    } finally {
      this.#writingBytes -= bytes;
    }
    return bytes;
  }

  async #sync(): Promise<void> {
    if (!this.#dirty) return;
    this.#dirty = false;
    await this.#journal?.datasync();
  }

  /** Journals into a new base: the newest of each key of the journals, and of the base what they do not have. */
  async #merge(): Promise<void> {
    const base = await readBase(this.#options.directory);
    if (base === undefined) throw new Error("the base has gone");
    try {
      await this.#mergeInto(base);
    } finally {
      await base.close();
    }
  }

  async #mergeInto(base: BaseReader): Promise<void> {
    const { directory, hostname, clock } = this.#options;
    const newest = new Map<string, Update>();
    let { sequence } = base.header;
    for await (const slice of readJournals(directory, base.header)) {
      for (const update of slice.updates) newest.set(update.path, update);
      ({ sequence } = slice);
    }
    if (sequence !== this.#written) throw new Error(`of ${this.#written} changes ${sequence} can be read`);
    this.#generation++;
    const header: StateHeader = { hostname, generation: this.#generation, sequence, atMs: clock.nowMs() };
    const file = await open(join(directory, TEMPORARY_FILE), "w", 0o600);
    this.#base = file;
    let count = 0;
    const write = async (updates: readonly Update[]): Promise<void> => {
      await writeAll(file, recordsOf(updates, snapshotRecord));
      count += updates.length;
    };
    await writeAll(file, [headerRecord(header)]);
    let step = await base.slices.next();
    for (; step.done !== true; step = await base.slices.next())
      await write(step.value.filter(({ path }) => !newest.has(path)));
    if (!step.value) throw new Error("the base is damaged");
    await write([...newest.values()].filter(({ value }) => value !== undefined));
    await writeAll(file, [endRecord(count)]);
    this.#base = undefined;
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
    await writeAll(this.#journal, [header]);
    this.#journalBytes = header.length;
    this.#written = sequence;
    await this.#flush();
  }
}

function bytesOf(records: readonly Buffer[]): number {
  return records.reduce((sum, { length }) => sum + length, 0);
}
