import { BucketDigests, bucketOf, hashValue, type KV } from "@bulrush/proto";
import type { ChunkStore } from "./chunk-store.ts";

/** The finest buckets: what a client names is a sum of these. */
const BUCKETS: number = new BucketDigests().bucketCount;
/** KVs hashed in one turn: about 2 ms. */
const HASHES_PER_TURN = 500;
/** After so many turns the rest is hashed at once, lest somebody waits for ever while a source refills everything. */
const MAX_TURNS = 4000;

/**
 * The digests of what a store holds, for clients that come from another server. Hashing a KV costs as much as encoding
 * it, so nothing is hashed before somebody asks; from then on a change costs a subtraction, and its new hash waits for
 * the next who asks.
 *
 * Invariant: of the positions below `#scanned`, those in use are either in `#stale`, or have their hash in `#hashes` and
 * in `#digests`; positions from `#scanned` on are in neither.
 */
export class SlotDigests {
  readonly #store: ChunkStore;
  readonly #digests = new BucketDigests();
  readonly #hashes: (string | undefined)[] = [];
  readonly #stale = new Set<number>();
  #buckets = new Uint16Array(0);
  #scanned = 0;

  constructor(store: ChunkStore) {
    this.#store = store;
  }

  /** The slot at `position` is about to hold something else than a KV of `pathBefore`, if it held any. */
  onChange(position: number, pathBefore: string | undefined): void {
    if (position >= this.#scanned) return;
    const hash = this.#hashes[position];
    if (hash !== undefined && pathBefore !== undefined) this.#digests.remove(pathBefore, hash);
    this.#hashes[position] = undefined;
    this.#stale.add(position);
  }

  /**
   * Hashes what has to be, with turns for everybody else in between. When it resolves, `differing` may be called before
   * anything else is published.
   */
  async settle(yieldTurn: () => Promise<void>): Promise<void> {
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      if (this.#hash(HASHES_PER_TURN)) return;
      await yieldTurn();
    }
    this.#hash(Number.POSITIVE_INFINITY);
  }

  /** The buckets, of as many as `digests` has, in which the store differs from what a client said. Call after `settle`. */
  differing(digests: string): readonly number[] {
    return this.#digests.differing(digests);
  }

  /** The KVs in these buckets of `bucketCount`; undefined when there are more than `max`. Call after `settle`. */
  kvsIn(buckets: readonly number[], bucketCount: number, max: number): KV[] | undefined {
    const wanted = new Uint8Array(bucketCount);
    for (const bucket of buckets) wanted[bucket] = 1;
    const finer = BUCKETS / bucketCount;
    const kvs: KV[] = [];
    for (let position = 0; position < this.#scanned; position++) {
      if (wanted[Math.floor((this.#buckets[position] ?? 0) / finer)] !== 1) continue;
      const kv = this.#store.get(position);
      if (kv === undefined) continue;
      if (kvs.length === max) return undefined;
      kvs.push(kv);
    }
    return kvs;
  }

  /** True when nothing is left to hash. */
  #hash(max: number): boolean {
    let left = max;
    for (const position of this.#stale) {
      if (left-- <= 0) return false;
      this.#stale.delete(position);
      this.#count(position);
    }
    const { end } = this.#store;
    while (this.#scanned < end) {
      if (left-- <= 0) return false;
      this.#count(this.#scanned++);
    }
    return true;
  }

  #count(position: number): void {
    const kv = this.#store.get(position);
    if (kv === undefined) return;
    const hash = hashValue(kv.path, kv.value);
    this.#digests.add(kv.path, hash);
    this.#hashes[position] = hash;
    if (position >= this.#buckets.length) {
      const larger = new Uint16Array(Math.max(1024, position * 2));
      larger.set(this.#buckets);
      this.#buckets = larger;
    }
    this.#buckets[position] = bucketOf(kv.path, BUCKETS);
  }
}
