import type { KV } from "@bulrush/proto";
import type { Breadcrumb } from "./breadcrumb.ts";
import type { ChunkStore } from "./chunk-store.ts";
import type { FrameEncoder, PackedFrames } from "./encode-kvs.ts";
import { buildPart, buildSnapshot, type Snapshot } from "./snapshot.ts";

export interface SnapshotShelfOptions {
  readonly store: ChunkStore;
  readonly head: () => Breadcrumb;
  readonly isRetained: (crumb: Breadcrumb) => boolean;
  readonly encodeFrame: FrameEncoder;
  readonly packed: PackedFrames | undefined;
  readonly yieldTurn: () => Promise<void>;
  readonly maxFrameBytes: number;
  /** A snapshot is handed out again until the breadcrumbs after it come to this much. */
  readonly reuseBytes: number;
  /** Bytes of parts that readers may hold; above it, no more parts are made. */
  readonly maxPartBytes: number;
}

/** What the shelf counts. */
export interface SnapshotCounters {
  generated: number;
  reused: number;
  /** Of the newest snapshot. */
  bytes: number;
  /** Snapshots of some buckets. */
  parts: number;
}

/** While so many snapshots of different breadcrumbs are being read, the newest is handed out as long as it can be. */
const MAX_GENERATIONS = 4;

/**
 * The snapshots that are being made, and those that are being read. A snapshot shares its chunks with the next one, but
 * for those that changed; slow readers of many different ones would still hold the cache many times over. So there are
 * never many: past a few, newcomers are handed the newest one at hand and read a longer chain; but for those who know more
 * than that one holds.
 *
 * Invariant: `#readers` has a positive count for each snapshot that was handed out and not released as often.
 */
export class SnapshotShelf {
  readonly counters: SnapshotCounters = { generated: 0, reused: 0, bytes: 0, parts: 0 };
  readonly #options: SnapshotShelfOptions;
  readonly #readers = new Map<Snapshot, number>();
  /** Parts of the present head, by what they hold. */
  readonly #parts = new Map<string, Promise<Snapshot>>();
  #partBytes = 0;
  /** Whole snapshots in `#readers`. */
  #generations = 0;
  #building: { readonly sequence: number; readonly snapshot: Promise<Snapshot> } | undefined = undefined;
  #latest: Snapshot | undefined = undefined;
  /** Bytes of the breadcrumbs after the one at which the newest snapshot was begun. */
  #bytesSince = 0;

  constructor(options: SnapshotShelfOptions) {
    this.#options = options;
  }

  /** Parts may be made: readers do not hold too many already. */
  get hasRoomForParts(): boolean {
    return this.#partBytes < this.#options.maxPartBytes;
  }

  /**
   * The snapshot of a recent breadcrumb, of none before `sequence` (0 to that of the head). The caller releases it once it
   * has been read.
   */
  async take(sequence: number): Promise<Snapshot> {
    for (;;) {
      const latest = this.#atHand();
      if (latest !== undefined && latest.crumb.sequence >= sequence) {
        this.counters.reused++;
        return this.#hold(latest);
      }
      const building = this.#building;
      if (building === undefined) return this.#hold(await this.#build());
      if (building.sequence >= sequence) {
        this.counters.reused++;
        return this.#hold(await building.snapshot);
      }
      // One at a time. Whether that one comes out is the business of those who wait for it.
      await building.snapshot.catch(() => {});
    }
  }

  /**
   * A snapshot of these KVs of the present head alone. `name` says which they are; those who ask for the same of one head
   * share it. The caller releases it.
   */
  async takePart(name: string, kvs: readonly KV[]): Promise<Snapshot> {
    let part = this.#parts.get(name);
    if (part === undefined) {
      const { head, encodeFrame, packed, yieldTurn, maxFrameBytes } = this.#options;
      this.counters.parts++;
      part = buildPart(kvs, { crumb: head(), encodeFrame, packed, yieldTurn, maxFrameBytes });
      this.#parts.set(name, part);
      part.catch(() => this.#parts.delete(name));
    }
    return this.#hold(await part);
  }

  /** The frames have been read, or never will be. */
  release(snapshot: Snapshot): void {
    const count = this.#readers.get(snapshot);
    if (count === undefined) return;
    if (count > 1) {
      this.#readers.set(snapshot, count - 1);
      return;
    }
    this.#readers.delete(snapshot);
    if (snapshot.isPart) this.#partBytes -= snapshot.bytes;
    else this.#generations--;
  }

  /** The head has moved on by a frame of so many bytes. */
  onAppend(bytes: number): void {
    this.#bytesSince += bytes;
    this.#parts.clear();
    if (!this.#isFresh()) this.#latest = undefined;
  }

  #atHand(): Snapshot | undefined {
    const latest = this.#latest;
    if (latest === undefined) return undefined;
    if (this.#isFresh() && this.#options.isRetained(latest.crumb)) return latest;
    this.#latest = undefined;
    return undefined;
  }

  #isFresh(): boolean {
    return this.#bytesSince <= this.#options.reuseBytes || this.#generations >= MAX_GENERATIONS;
  }

  #build(): Promise<Snapshot> {
    const crumb = this.#options.head();
    const snapshot = this.#buildAt(crumb);
    this.#building = { sequence: crumb.sequence, snapshot };
    return snapshot;
  }

  async #buildAt(crumb: Breadcrumb): Promise<Snapshot> {
    const { store, encodeFrame, packed, yieldTurn, maxFrameBytes } = this.#options;
    this.counters.generated++;
    this.#bytesSince = 0;
    try {
      const snapshot = await buildSnapshot({ store, crumb, encodeFrame, packed, yieldTurn, maxFrameBytes });
      this.counters.bytes = snapshot.bytes;
      this.#latest = snapshot;
      return snapshot;
    } finally {
      this.#building = undefined;
    }
  }

  #hold(snapshot: Snapshot): Snapshot {
    const count = this.#readers.get(snapshot) ?? 0;
    if (count === 0 && snapshot.isPart) this.#partBytes += snapshot.bytes;
    else if (count === 0) this.#generations++;
    this.#readers.set(snapshot, count + 1);
    return snapshot;
  }
}
