import { must } from "@bulrush/base";
import { type SyncStatus, sameValue, type Update } from "@bulrush/model";
import { bucketCountOf, type KV, type KVListMaker, PackedKV, ProtoError, type SyncerType } from "@bulrush/proto";
import { Breadcrumb, CRUMB_OVERHEAD_BYTES } from "./breadcrumb.ts";
import { ChunkStore } from "./chunk-store.ts";
import { encodeKVs, type FrameEncoder, type PackedFrames } from "./encode-kvs.ts";
import { Retention, type UndoEntry } from "./retention.ts";
import { packIfPossible, type Slot } from "./slab.ts";
import { SlotDigests } from "./slot-digests.ts";
import type { Snapshot } from "./snapshot.ts";
import { type SnapshotCounters, SnapshotShelf } from "./snapshot-shelf.ts";

/** One stream's cache. What is a function is called from within the cache's own calls. */
export interface SnapshotCacheOptions {
  readonly syncer: SyncerType;
  /** Random, one per life of a cache: sequences of another epoch mean nothing here. */
  readonly epoch: string;
  /** What it gives is shared by all clients: nobody changes it. */
  readonly encodeFrame: FrameEncoder;
  /** KVs are held as bytes where that is possible. Default: as objects. */
  readonly packed?: PackedFrames | undefined;
  /** Lets timers and sockets have their turn between two chunks of a snapshot. */
  readonly yieldTurn: () => Promise<void>;
  /** Wall clock of the first breadcrumb, Unix ms. */
  readonly nowMs: number;
  /** KVs per breadcrumb at most. Default 100. */
  readonly maxBatch?: number;
  /** KVs that are encoded and compressed together in a snapshot. Default 512. */
  readonly slotsPerChunk?: number;
  /** Budget of the breadcrumbs that are kept for clients that come back. Default 64 MiB. */
  readonly retainBytes?: number;
  /** A frame of several KVs is split when it gets larger. Default 1 MiB. */
  readonly maxFrameBytes?: number;
  /** A snapshot is handed out again until the breadcrumbs after it come to this much. Default 64 KiB. */
  readonly reuseBytes?: number;
  /**
   * Told of a value that no client could read (more than 16 MiB encoded, nested too deep), and why. The one before it
   * stays, or the key stays absent; everything else goes on.
   */
  readonly onUnsendable?: (path: string, reason: string) => void;
}

/** What the stream's source said last, in its order. */
export interface PublishInput {
  readonly updates: readonly Update[];
  /** The status of the stream after these updates; undefined: as before. */
  readonly status?: SyncStatus | undefined;
  /** Unix ms. */
  readonly nowMs: number;
  /** Unix ms at which the newest update came from the syncer. Default `nowMs`. */
  readonly seenAtMs?: number;
}

/** What became of it. */
export interface PublishResult {
  /** The breadcrumbs that were made, in order; none when nothing changed. */
  readonly crumbs: readonly Breadcrumb[];
  /** Updates that would have changed nothing. */
  readonly skipped: number;
}

/** What the cache tells about itself: for metrics. */
export interface CacheCounters {
  /** Since the start of the cache; so `skipped`, those that would have changed nothing. */
  updates: number;
  skipped: number;
  readonly snapshots: Readonly<SnapshotCounters>;
}

/** How a client that holds something is brought to the present state. */
export interface Difference {
  /** Where it differs, of as many buckets as its digests have. */
  readonly buckets: readonly number[];
  /** What is in those buckets at one breadcrumb, and nothing else. */
  readonly snapshot: Snapshot;
}

interface Change {
  readonly kv: KV;
  /** What the store holds of it; of a delete, the KV. */
  readonly slot: Slot;
  readonly undo: UndoEntry;
}

/** A client that lacks more than this share of the keys is sent all: those chunks are encoded already. */
const MAX_PART_SHARE = 1 / 8;
/** But so few are a part whatever their share. */
const MIN_PART_KVS = 64;
/** Bytes of the parts that clients have not read yet. */
const MAX_PART_BYTES = 64 * 1024 * 1024;

/**
 * The present state of one stream, and its recent history, in the form in which clients are sent it. Pure: the clock,
 * the randomness, the codec and the yielding are arguments.
 *
 * ```
 *                      publish                             at(sequence)
 *  updates, status ------+---> crumb 7 -> crumb 8 -> crumb 9 = head     (append-only; readers walk `next`)
 *                        |                   ^
 *                        v                   | a snapshot belongs to exactly one breadcrumb
 *            path -> position -> [chunk][chunk][chunk]  --encode dirty ones--> Snapshot { crumb, frames }
 * ```
 * One mutable map and a chain, not a persistent tree: a publish costs what it changes and not the logarithm of
 * everything, ten times less than the best persistent map, and a slow reader costs nothing at all.
 *
 * Order for every reader: breadcrumb n before n + 1; the KVs of a breadcrumb before its status. A status only ever
 * goes with the last breadcrumb of a publish, so that in-sync never comes before the KVs that make it true.
 *
 * Invariant: `#positions` holds exactly the paths of the slots in use. `head.sequence` grows by one per breadcrumb.
 */
export class SnapshotCache {
  readonly syncer: SyncerType;
  readonly epoch: string;
  /** Live: read it, never change it. */
  readonly counters: CacheCounters;
  readonly #options: SnapshotCacheOptions;
  readonly #maxBatch: number;
  readonly #maxFrameBytes: number;
  readonly #positions = new Map<string, number>();
  readonly #store: ChunkStore;
  readonly #digests: SlotDigests;
  readonly #shelf: SnapshotShelf;
  readonly #retention: Retention;
  readonly #listeners = new Set<(head: Breadcrumb) => void>();
  #head: Breadcrumb;
  #wasInSync = false;

  constructor(options: SnapshotCacheOptions) {
    this.#options = options;
    this.syncer = options.syncer;
    this.epoch = options.epoch;
    this.#maxBatch = options.maxBatch ?? 100;
    this.#maxFrameBytes = options.maxFrameBytes ?? 1024 * 1024;
    this.#store = new ChunkStore(options.slotsPerChunk ?? 512, options.packed?.packing);
    this.#digests = new SlotDigests(this.#store);
    this.#shelf = new SnapshotShelf({
      store: this.#store,
      head: () => this.#head,
      isRetained: (crumb) => this.at(crumb.sequence) !== undefined,
      encodeFrame: options.encodeFrame,
      packed: options.packed,
      yieldTurn: options.yieldTurn,
      maxFrameBytes: this.#maxFrameBytes,
      reuseBytes: options.reuseBytes ?? 64 * 1024,
      maxPartBytes: MAX_PART_BYTES,
    });
    this.counters = { updates: 0, skipped: 0, snapshots: this.#shelf.counters };
    this.#retention = new Retention(options.retainBytes ?? 64 * 1024 * 1024);
    this.#head = new Breadcrumb({
      sequence: 0,
      timestampMs: options.nowMs,
      seenAtMs: options.nowMs,
      status: "wait-for-ready",
      kvCount: 0,
      frame: Buffer.alloc(0),
      endByte: 0,
    });
    this.#retention.add(this.#head, []);
  }

  /** The newest breadcrumb. */
  get head(): Breadcrumb {
    return this.#head;
  }

  /** It has held all that the source has, at least once: what it lacks is gone, or will come. */
  get wasInSync(): boolean {
    return this.#wasInSync;
  }

  /** How many keys exist. */
  get size(): number {
    return this.#store.size;
  }

  /** The retained history: how many breadcrumbs, since which sequence, about how many bytes. */
  get history(): { readonly count: number; readonly oldestSequence: number; readonly bytes: number } {
    const { count, oldestSequence, bytes } = this.#retention;
    return { count, oldestSequence, bytes };
  }

  /** The KV of a path at the head. */
  get(path: string): KV | undefined {
    const position = this.#positions.get(path);
    return position === undefined ? undefined : this.#store.get(position);
  }

  /** The breadcrumb of this sequence while it is retained. The head always is. */
  at(sequence: number): Breadcrumb | undefined {
    return this.#retention.at(sequence);
  }

  /**
   * Takes changes in, in their order. What changes nothing is left out, whatever its revision or update type say:
   * equal contents, or a delete of a key that is not there. Listeners are called once, at the end.
   */
  publish(input: PublishInput): PublishResult {
    const changes: Change[] = [];
    for (const update of input.updates) {
      const change = this.#apply(update);
      if (change !== undefined) changes.push(change);
    }
    const skipped = input.updates.length - changes.length;
    this.counters.updates += input.updates.length;
    this.counters.skipped += skipped;
    const crumbs: Breadcrumb[] = [];
    const status = input.status ?? this.#head.status;
    for (let i = 0; i < changes.length; i += this.#maxBatch) {
      const batch = changes.slice(i, i + this.#maxBatch);
      const last = i + this.#maxBatch >= changes.length;
      this.#appendBatch(batch, last ? status : this.#head.status, input, crumbs);
    }
    if (status !== this.#head.status) {
      // A delta without KVs moves the readers' place, so that only deltas do.
      const frame = Buffer.concat([this.#deltaFrame([], input), this.#statusFrame(status)]);
      this.#append(frame, [], status, input, crumbs);
    }
    if (crumbs.length > 0) for (const listener of this.#listeners) listener(this.#head);
    return { crumbs, skipped };
  }

  /**
   * The snapshot of a recent breadcrumb: one that is at hand if it is recent enough, else one of the present head.
   * Callers that come while one is being built share it. `newest`: of no breadcrumb before the present head, for a client
   * that knows what another server has told it: an older one would take back what that client knows. The caller releases it
   * once it has been read. Rejects only when encoding fails.
   */
  snapshot(newest: boolean = false): Promise<Snapshot> {
    return this.#shelf.take(newest ? this.#head.sequence : 0);
  }

  /** The frames of a snapshot have been read, or never will be. */
  release(snapshot: Snapshot): void {
    this.#shelf.release(snapshot);
  }

  /**
   * What a client with these digests (checked, of a hello) has to be sent; undefined where the whole snapshot serves it
   * as well. The caller releases the snapshot in it.
   */
  async difference(digests: string): Promise<Difference | undefined> {
    await this.#digests.settle(this.#options.yieldTurn);
    const buckets = this.#digests.differing(digests);
    const max = Math.max(MIN_PART_KVS, Math.floor(this.size * MAX_PART_SHARE));
    const bucketCount = bucketCountOf(digests);
    const kvs = this.#shelf.hasRoomForParts ? this.#digests.kvsIn(buckets, bucketCount, max) : undefined;
    if (kvs === undefined) return undefined;
    return { buckets, snapshot: await this.#shelf.takePart(`${bucketCount}:${buckets.join()}`, kvs) };
  }

  /**
   * The KVs that existed at a retained breadcrumb, in no promised order; undefined when it is not retained any more.
   * Walks everything: for inspection, not for the stream.
   */
  kvsAt(sequence: number): readonly KV[] | undefined {
    const before = this.#retention.before(sequence);
    if (before === undefined) return undefined;
    const kvs: KV[] = [];
    for (const [position, kv] of this.#store.entries()) if (!before.has(position)) kvs.push(kv);
    for (const slot of before.values()) if (slot !== undefined) kvs.push(this.#store.kvOf(slot));
    return kvs;
  }

  /** Calls `listener` after each publish that made breadcrumbs. Gives the function that ends it. */
  onPublish(listener: (head: Breadcrumb) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #apply(update: Update): Change | undefined {
    const { path, value, revision } = update;
    const position = this.#positions.get(path);
    const store = this.#store;
    if (position === undefined) {
      if (value === undefined) return undefined;
      const kv: KV = { path, value, revision, updateType: "new" };
      const inserted = store.insert(store.slotFor(kv));
      const slot = must(store.slotAt(inserted), "the slot that was filled");
      this.#digests.onChange(inserted, undefined);
      this.#positions.set(path, inserted);
      return { kv, slot, undo: { position: inserted, before: undefined } };
    }
    const before = must(store.slotAt(position), "the KV of a known path");
    if (value === undefined) {
      const kv: KV = { path, value: undefined, revision, updateType: "deleted" };
      this.#digests.onChange(position, path);
      store.remove(position);
      this.#positions.delete(path);
      return { kv, slot: kv, undo: { position, before } };
    }
    const fresh = store.slotFor({ path, value, revision, updateType: "new" });
    if (this.#isSame(before, fresh, value)) return undefined;
    this.#digests.onChange(position, path);
    store.replace(position, fresh);
    const slot = must(store.slotAt(position), "the slot that was filled");
    return { kv: { path, value, revision, updateType: "updated" }, slot, undo: { position, before } };
  }

  /** Whether what is held of a path has the content of `value`, which is `slot`. */
  #isSame(held: Slot, slot: Slot, value: unknown): boolean {
    const { packed } = this.#options;
    if (packed !== undefined && held instanceof PackedKV && slot instanceof PackedKV) {
      const isSame = packed.packing.isSameValue(held, slot);
      if (isSame !== undefined) return isSame;
    }
    return sameValue(this.#store.kvOf(held).value, value);
  }

  /** One breadcrumb, or several when the KVs are too large for one frame. */
  #appendBatch(batch: readonly Change[], status: SyncStatus, input: PublishInput, crumbs: Breadcrumb[]): void {
    const packed = this.#packedFrame(batch, input);
    if (packed !== undefined) {
      const undo = batch.map((change) => change.undo);
      const whole = status === this.#head.status ? packed : Buffer.concat([packed, this.#statusFrame(status)]);
      this.#append(whole, undo, status, input, crumbs);
      return;
    }
    let taken = 0;
    encodeKVs(
      batch.map((change) => change.kv),
      this.#maxFrameBytes,
      (kvs) => this.#deltaFrame(kvs, input),
      (part) => {
        const { kvs, frame } = part;
        const undo = batch.slice(taken, taken + kvs.length).map((change) => change.undo);
        taken += kvs.length;
        if (frame === undefined) {
          this.#takeBack(part.kvs[0], undo[0], part.reason);
          return;
        }
        const withStatus = taken === batch.length && status !== this.#head.status;
        const whole = withStatus ? Buffer.concat([frame, this.#statusFrame(status)]) : frame;
        this.#append(whole, undo, withStatus ? status : this.#head.status, input, crumbs);
      },
    );
  }

  /** Undoes a change that cannot be sent. */
  #takeBack(kv: KV, undo: UndoEntry | undefined, reason: string): void {
    if (undo === undefined) return;
    const { position, before } = undo;
    this.#options.onUnsendable?.(kv.path, reason);
    // A later change of the same publish may have taken its place already.
    const present = this.#store.get(position);
    if (present?.path !== kv.path || !sameValue(present.value, kv.value)) return;
    this.#digests.onChange(position, kv.path);
    if (before !== undefined) this.#store.replace(position, before);
    else {
      this.#store.remove(position);
      this.#positions.delete(kv.path);
    }
  }

  /** The frame of the next breadcrumb. A part that turns out too large was encoded for nothing: it is rare. */
  #deltaFrame(kvs: readonly KV[], input: PublishInput): Buffer {
    return this.#options.encodeFrame({
      type: "delta",
      fromSequence: this.#head.sequence,
      sequence: this.#head.sequence + 1,
      kvs,
      seenAtMs: input.seenAtMs ?? input.nowMs,
    });
  }

  /** The frame of the next breadcrumb from what is packed already; undefined where something is not, or it is too large. */
  #packedFrame(batch: readonly Change[], input: PublishInput): Buffer | undefined {
    const { packed } = this.#options;
    if (packed === undefined) return undefined;
    try {
      const maker = packed.packing.list();
      for (const { kv, slot } of batch) {
        // In a snapshot it will be a new one.
        if (slot instanceof PackedKV ? !maker.add(slot, kv.updateType === "updated") : !addDelete(kv, packed, maker))
          return undefined;
      }
      const frame = packed.encode({
        type: "delta",
        fromSequence: this.#head.sequence,
        sequence: this.#head.sequence + 1,
        kvs: maker.end(),
        seenAtMs: input.seenAtMs ?? input.nowMs,
      });
      return frame.length <= this.#maxFrameBytes ? frame : undefined;
    } catch (error) {
      if (error instanceof ProtoError) return undefined;
      throw error;
    }
  }

  #statusFrame(status: SyncStatus): Buffer {
    return this.#options.encodeFrame({ type: "status", sequence: this.#head.sequence + 1, status });
  }

  #append(
    frame: Buffer,
    undo: readonly UndoEntry[],
    status: SyncStatus,
    input: PublishInput,
    crumbs: Breadcrumb[],
  ): void {
    const crumb = new Breadcrumb({
      sequence: this.#head.sequence + 1,
      timestampMs: input.nowMs,
      seenAtMs: input.seenAtMs ?? input.nowMs,
      status,
      kvCount: undo.length,
      frame,
      endByte: this.#head.endByte + frame.length + CRUMB_OVERHEAD_BYTES,
    });
    this.#head.append(crumb);
    this.#head = crumb;
    if (status === "in-sync") this.#wasInSync = true;
    this.#retention.add(crumb, undo);
    this.#shelf.onAppend(frame.length);
    crumbs.push(crumb);
  }
}

/** A delete is packed when it is sent. False for anything else that is not packed. */
function addDelete(kv: KV, { packing }: PackedFrames, maker: KVListMaker): boolean {
  const packed = kv.value === undefined ? packIfPossible(kv, packing) : kv;
  if (!(packed instanceof PackedKV)) return false;
  const { source, start, end, tail, low, high, sum } = packed;
  return maker.add(new PackedKV(Buffer.from(source.subarray(start, end)), 0, end - start, tail, low, high, sum));
}
