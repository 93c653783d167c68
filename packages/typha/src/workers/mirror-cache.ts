import { assert, must } from "@bulrush/base";
import type { SyncerType } from "@bulrush/proto";
import { Breadcrumb } from "../cache/breadcrumb.ts";
import type { ServedCache } from "../cache/served-cache.ts";
import { bufferOf } from "../cache/shared-bytes.ts";
import type { Snapshot } from "../cache/snapshot.ts";
import type { Difference } from "../cache/snapshot-cache.ts";
import type { SharedCrumb, SharedDifference, SharedSnapshot } from "./messages.ts";

export interface MirrorCacheOptions {
  readonly syncer: SyncerType;
  readonly epoch: string;
  /** The oldest breadcrumb that is retained. */
  readonly first: SharedCrumb;
  readonly wasInSync: boolean;
  readonly askSnapshot: (newest: boolean) => Promise<SharedSnapshot>;
  readonly askDifference: (digests: string) => Promise<SharedDifference | undefined>;
  /** The newest sequence of the cache. */
  readonly askHead: () => Promise<number>;
  /** So many answers with this snapshot are not needed any more. */
  readonly release: (id: number, answers: number) => void;
}

/** The first may have been begun before we asked, by somebody else; no later one. */
const MAX_TRIES = 3;

interface Held {
  readonly snapshot: Snapshot;
  readonly id: number;
  /** Answers that held it, for the cache's own count. */
  answers: number;
  readers: number;
}

/**
 * A snapshot cache as another thread sees it: its chain of breadcrumbs, in frames that both threads share, and nothing
 * decoded. Snapshots are the cache's own; it is asked for each, and shares them between those that ask.
 *
 * ```
 *   crumbs --take()--> chain (as far back as the cache retains it)
 *   snapshot() --ask--> SharedSnapshot --wait until the chain has its breadcrumb--> Snapshot
 * ```
 * Invariant: `#crumbs` from `#start` on have consecutive sequences, the last is `head`. `#held` has each snapshot with
 * readers. `#needs` has, of each question under way, the oldest sequence that it could be answered with: from the least of
 * them on nothing is dropped, so that the breadcrumb of an answer is still there when it comes.
 */
export class MirrorCache implements ServedCache {
  readonly syncer: SyncerType;
  readonly epoch: string;
  readonly #options: MirrorCacheOptions;
  readonly #listeners = new Set<(head: Breadcrumb) => void>();
  readonly #held = new Map<number, Held>();
  readonly #bySnapshot = new Map<Snapshot, Held>();
  readonly #needs = new Set<{ from: number }>();
  readonly #waiting = new Set<{ readonly sequence: number; readonly resolve: () => void }>();
  #crumbs: (Breadcrumb | undefined)[];
  #start = 0;
  #oldestSequence: number;
  #head: Breadcrumb;
  #wasInSync: boolean;
  /** The question for a whole snapshot that is under way, and how many wait for its answer. */
  #question: { readers: number; answer: Promise<Snapshot | undefined> | undefined } | undefined = undefined;

  constructor(options: MirrorCacheOptions) {
    this.#options = options;
    this.syncer = options.syncer;
    this.epoch = options.epoch;
    this.#head = crumbOf(options.first);
    this.#crumbs = [this.#head];
    this.#oldestSequence = this.#head.sequence;
    this.#wasInSync = options.wasInSync;
  }

  get head(): Breadcrumb {
    return this.#head;
  }

  get wasInSync(): boolean {
    return this.#wasInSync;
  }

  at(sequence: number): Breadcrumb | undefined {
    return sequence >= this.#oldestSequence || sequence === this.#head.sequence ? this.#kept(sequence) : undefined;
  }

  /** The next breadcrumbs, in order; those before `oldestSequence` are not retained any more. */
  take(crumbs: readonly SharedCrumb[], oldestSequence: number, wasInSync: boolean): void {
    for (const shared of crumbs) {
      const crumb = crumbOf(shared);
      this.#head.append(crumb);
      this.#head = crumb;
      this.#crumbs.push(crumb);
    }
    this.#oldestSequence = Math.max(this.#oldestSequence, oldestSequence);
    this.#wasInSync = wasInSync;
    for (const waiter of this.#waiting) {
      if (waiter.sequence > this.#head.sequence) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
    this.#drop();
    if (crumbs.length > 0) for (const listener of this.#listeners) listener(this.#head);
  }

  async reach(sequence: number): Promise<void> {
    if (sequence > this.#head.sequence && sequence <= (await this.#options.askHead())) await this.#whenAt(sequence);
  }

  async snapshot(newest: boolean = false): Promise<Snapshot> {
    // A question that was asked before may be answered with less than there is now.
    if (newest)
      return must(
        await this.#fetch(
          () => this.#options.askSnapshot(true),
          () => 1,
        ),
        "a snapshot",
      );
    const question = (this.#question ??= { readers: 0, answer: undefined });
    question.readers++;
    const end = (): number => {
      if (this.#question === question) this.#question = undefined;
      return question.readers;
    };
    question.answer ??= this.#fetch(() => this.#options.askSnapshot(false), end).catch((error: unknown) => {
      end();
      throw error;
    });
    return must(await question.answer, "a snapshot");
  }

  async difference(digests: string): Promise<Difference | undefined> {
    let buckets: readonly number[] = [];
    const ask = async (): Promise<SharedSnapshot | undefined> => {
      const answer = await this.#options.askDifference(digests);
      buckets = answer?.buckets ?? [];
      return answer?.snapshot;
    };
    const snapshot = await this.#fetch(ask, () => 1);
    return snapshot === undefined ? undefined : { buckets, snapshot };
  }

  release(snapshot: Snapshot): void {
    const held = this.#bySnapshot.get(snapshot);
    if (held === undefined || --held.readers > 0) return;
    this.#bySnapshot.delete(snapshot);
    this.#held.delete(held.id);
    this.#options.release(held.id, held.answers);
  }

  onPublish(listener: (head: Breadcrumb) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** `readers`: asked at the end, how many the snapshot is for. */
  async #fetch(ask: () => Promise<SharedSnapshot | undefined>, readers: () => number): Promise<Snapshot | undefined> {
    const need = { from: this.#oldestNeeded() };
    this.#needs.add(need);
    try {
      for (let tries = 1; ; tries++) {
        const shared = await ask();
        if (shared === undefined) return undefined;
        await this.#whenAt(shared.sequence);
        const crumb = this.#kept(shared.sequence);
        if (crumb !== undefined) return this.#hold(shared, crumb, readers());
        // It was begun before we asked, and its breadcrumb dropped since. The next one begins after it.
        this.#options.release(shared.id, 1);
        assert(tries < MAX_TRIES, () => `Breadcrumb ${shared.sequence} is not there for its snapshot`);
        need.from = this.#oldestNeeded();
        this.#drop();
      }
    } finally {
      this.#needs.delete(need);
      this.#drop();
    }
  }

  #hold({ id, memory, ends, count, isPart }: SharedSnapshot, crumb: Breadcrumb, readers: number): Snapshot {
    let held = this.#held.get(id);
    if (held === undefined) {
      const pieces = ends.map((end, i) => {
        const start = ends[i - 1] ?? 0;
        return Buffer.from(memory, start, end - start);
      });
      held = { snapshot: { crumb, pieces, count, bytes: ends.at(-1) ?? 0, isPart }, id, answers: 0, readers: 0 };
      this.#held.set(id, held);
      this.#bySnapshot.set(held.snapshot, held);
    }
    held.answers++;
    held.readers += readers;
    return held.snapshot;
  }

  #whenAt(sequence: number): Promise<void> | undefined {
    if (sequence <= this.#head.sequence) return undefined;
    return new Promise((resolve) => this.#waiting.add({ sequence, resolve }));
  }

  #kept(sequence: number): Breadcrumb | undefined {
    const oldest = this.#crumbs[this.#start];
    return oldest === undefined ? undefined : this.#crumbs[this.#start + sequence - oldest.sequence];
  }

  /** Nothing before it can be asked for from now on. The head may itself be older than what the cache retains. */
  #oldestNeeded(): number {
    return Math.min(this.#oldestSequence, this.#head.sequence);
  }

  #drop(): void {
    let least = this.#oldestNeeded();
    for (const { from } of this.#needs) least = Math.min(least, from);
    while ((this.#crumbs[this.#start]?.sequence ?? least) < least) this.#crumbs[this.#start++] = undefined;
    if (this.#start > 1024 && this.#start * 2 > this.#crumbs.length) {
      this.#crumbs = this.#crumbs.slice(this.#start);
      this.#start = 0;
    }
  }
}

function crumbOf(shared: SharedCrumb): Breadcrumb {
  return new Breadcrumb({ ...shared, frame: bufferOf(shared.frame) });
}
