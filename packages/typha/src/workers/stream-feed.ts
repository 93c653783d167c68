import type { Breadcrumb } from "../cache/breadcrumb.ts";
import { sharedBytes } from "../cache/shared-bytes.ts";
import type { Snapshot } from "../cache/snapshot.ts";
import type { SnapshotCache } from "../cache/snapshot-cache.ts";
import type { SharedCrumb, SharedDifference, SharedSnapshot, ToWorker, WorkerInit } from "./messages.ts";
import type { SharedSnapshots } from "./shared-snapshots.ts";

/** Breadcrumbs in one message. */
const MAX_CRUMBS = 500;

/**
 * What one worker is given of one cache. Its queue is its place in the chain, as for a client: one message of breadcrumbs
 * is on its way at most, and the next goes once the worker has taken it.
 *
 * Invariant: `#inFlight` from a message of breadcrumbs to its `took`. `#held` counts the answers with each snapshot that
 * the worker has not given back.
 */
export class StreamFeed {
  readonly cache: SnapshotCache;
  readonly #snapshots: SharedSnapshots;
  readonly #post: (message: ToWorker) => void;
  readonly #unsubscribe: () => void;
  readonly #held = new Map<number, { readonly snapshot: Snapshot; answers: number }>();
  readonly #startSequence: number;
  #crumb: Breadcrumb;
  #inFlight = false;
  #taken: number;
  #closed = false;

  /** Nothing is posted before the first `pump`. */
  constructor(cache: SnapshotCache, snapshots: SharedSnapshots, post: (message: ToWorker) => void) {
    this.cache = cache;
    this.#snapshots = snapshots;
    this.#post = post;
    this.#crumb = cache.at(cache.history.oldestSequence) ?? cache.head;
    this.#taken = this.#crumb.sequence;
    this.#startSequence = cache.head.sequence;
    this.#unsubscribe = cache.onPublish(() => this.pump());
  }

  /** What the worker's mirror begins with. Before the first `pump`. */
  get init(): WorkerInit["streams"][number] {
    const { syncer, epoch, wasInSync } = this.cache;
    return { syncer, epoch, first: sharedCrumb(this.#crumb), wasInSync };
  }

  /** The worker has all that there was when this feed began. */
  get isCaughtUp(): boolean {
    return this.#taken >= this.#startSequence;
  }

  /** What waits for the worker to take it. */
  get backlogBytes(): number {
    return this.cache.head.endByte - this.#crumb.endByte;
  }

  pump(): void {
    if (this.#inFlight || this.#closed) return;
    const crumbs: SharedCrumb[] = [];
    for (let next = this.#crumb.next; next !== undefined && crumbs.length < MAX_CRUMBS; next = next.next) {
      this.#crumb = next;
      crumbs.push(sharedCrumb(next));
    }
    if (crumbs.length === 0) return;
    this.#inFlight = true;
    const { syncer, wasInSync, history } = this.cache;
    this.#post({ type: "crumbs", syncer, crumbs, oldestSequence: history.oldestSequence, wasInSync });
  }

  took(sequence: number): void {
    this.#inFlight = false;
    this.#taken = sequence;
    this.pump();
  }

  /** Rejects when the cache cannot make one. */
  async snapshot(newest: boolean): Promise<SharedSnapshot> {
    return this.#hold(await this.cache.snapshot(newest));
  }

  async difference(digests: string): Promise<SharedDifference | undefined> {
    const difference = await this.cache.difference(digests);
    if (difference === undefined) return undefined;
    return { buckets: difference.buckets, snapshot: await this.#hold(difference.snapshot) };
  }

  release(id: number, answers: number): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    held.answers -= answers;
    for (let i = 0; i < answers; i++) this.cache.release(held.snapshot);
    if (held.answers <= 0) this.#held.delete(id);
  }

  /** The worker is gone: what it held is given back. */
  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    for (const [id, { answers }] of this.#held) this.release(id, answers);
  }

  async #hold(snapshot: Snapshot): Promise<SharedSnapshot> {
    const shared = await this.#snapshots.share(snapshot).catch((error: unknown) => {
      this.cache.release(snapshot);
      throw error;
    });
    if (this.#closed) {
      this.cache.release(snapshot);
      return shared;
    }
    const held = this.#held.get(shared.id);
    if (held === undefined) this.#held.set(shared.id, { snapshot, answers: 1 });
    else held.answers++;
    return shared;
  }
}

function sharedCrumb(crumb: Breadcrumb): SharedCrumb {
  const { sequence, timestampMs, seenAtMs, status, kvCount, endByte, frame } = crumb;
  return { sequence, timestampMs, seenAtMs, status, kvCount, endByte, frame: sharedBytes(frame) };
}
