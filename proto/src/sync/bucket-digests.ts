import { assert } from "@bulrush/base";

/** The most buckets that a client may name, and the finest that a server keeps. */
export const MAX_BUCKETS = 1024;
/** Keys for each bucket that `bucketCountFor` aims at. */
const KEYS_PER_BUCKET = 8;
/** 128 bits in words of 32. */
const WORDS = 4;
const BYTES = WORDS * 4;

/** FNV-1a over the code units, then the last steps of MurmurHash3: the first bits must depend on all of the path. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const MIX_1 = 0x85ebca6b;
const MIX_2 = 0xc2b2ae35;

/** The bucket of a path among `bucketCount`, a power of two: the first bits of its 32-bit hash. */
export function bucketOf(path: string, bucketCount: number): number {
  let hash = FNV_OFFSET;
  for (let i = 0; i < path.length; i++) hash = Math.imul(hash ^ path.charCodeAt(i), FNV_PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), MIX_1);
  hash = Math.imul(hash ^ (hash >>> 13), MIX_2);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return Math.floor((hash / 0x1_0000_0000) * bucketCount);
}

/** How many buckets a client with so many keys does well to name: some 8 keys each. */
export function bucketCountFor(keys: number): number {
  let count = 1;
  while (count < MAX_BUCKETS && count * KEYS_PER_BUCKET < keys) count *= 2;
  return count;
}

/** True for what {@link BucketDigests.encode} may give. */
export function isDigestText(text: string): boolean {
  const bytes = Math.floor((text.length * 3) / 4 / BYTES) * BYTES;
  const count = bytes / BYTES;
  return isBucketCount(count) && text.length === Math.ceil(bytes / 3) * 4 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}

/**
 * A digest for each bucket of a set of KVs: equal on both sides exactly when the bucket holds the same KVs. It is the
 * sum of the KVs' hashes (`hashValue`), each 32 bits of them for themselves, so that a change costs two additions,
 * order does not count, and coarser buckets are sums of finer ones.
 *
 * Invariant: words `4 * b` to `4 * b + 3` are the sum, modulo 2^32 each, of the hashes added to bucket b and not removed.
 */
export class BucketDigests {
  readonly bucketCount: number;
  readonly #words: Uint32Array;

  /** `bucketCount` is a power of two up to 1,024. */
  constructor(bucketCount: number = MAX_BUCKETS) {
    assert(isBucketCount(bucketCount), () => `There cannot be ${bucketCount} buckets`);
    this.bucketCount = bucketCount;
    this.#words = new Uint32Array(bucketCount * WORDS);
  }

  /** `hash` is `hashValue(path, value)`. */
  add(path: string, hash: string): void {
    const at = bucketOf(path, this.bucketCount) * WORDS;
    for (let i = 0; i < WORDS; i++) this.#words[at + i] = (this.#words[at + i] as number) + wordOf(hash, i);
  }

  /** Takes back an `add` of the same path and hash. */
  remove(path: string, hash: string): void {
    const at = bucketOf(path, this.bucketCount) * WORDS;
    for (let i = 0; i < WORDS; i++) this.#words[at + i] = (this.#words[at + i] as number) - wordOf(hash, i);
  }

  /** The digests for a hello, of this many buckets: a power of two, at most as many as these. Default: as many. */
  encode(bucketCount: number = this.bucketCount): string {
    assert(isBucketCount(bucketCount) && bucketCount <= this.bucketCount, () => `There are no ${bucketCount} buckets`);
    const words = this.#folded(bucketCount);
    const bytes = Buffer.allocUnsafe(words.length * 4);
    for (const [i, word] of words.entries()) bytes.writeUInt32LE(word, i * 4);
    return bytes.toString("base64");
  }

  /**
   * The buckets, ascending, of as many as `text` has, in which these digests are others than those of `text`, a hello's
   * digests with at most as many buckets as these.
   */
  differing(text: string): number[] {
    const bytes = Buffer.from(text, "base64");
    const count = bytes.length / BYTES;
    assert(isBucketCount(count) && count <= this.bucketCount, () => `Digests of ${count} buckets were not checked`);
    const own = this.#folded(count);
    const buckets: number[] = [];
    for (let bucket = 0; bucket < count; bucket++) {
      for (let i = bucket * WORDS; i < (bucket + 1) * WORDS; i++) {
        if (own[i] === bytes.readUInt32LE(i * 4)) continue;
        buckets.push(bucket);
        break;
      }
    }
    return buckets;
  }

  #folded(count: number): Uint32Array {
    const finer = this.bucketCount / count;
    if (finer === 1) return this.#words;
    const folded = new Uint32Array(count * WORDS);
    for (const [i, word] of this.#words.entries()) {
      const at = Math.floor(i / WORDS / finer) * WORDS + (i % WORDS);
      folded[at] = (folded[at] as number) + word;
    }
    return folded;
  }
}

/** How many buckets checked digests have. */
export function bucketCountOf(text: string): number {
  return Math.floor((text.length * 3) / 4 / BYTES);
}

function isBucketCount(count: number): boolean {
  return Number.isInteger(count) && count >= 1 && count <= MAX_BUCKETS && (count & (count - 1)) === 0;
}

/** Bits `32 * i` and following of a hash, its first byte lowest. */
function wordOf(hash: string, i: number): number {
  const at = i * 4;
  return (
    (hash.charCodeAt(at) |
      (hash.charCodeAt(at + 1) << 8) |
      (hash.charCodeAt(at + 2) << 16) |
      (hash.charCodeAt(at + 3) << 24)) >>>
    0
  );
}
