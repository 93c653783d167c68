import type { LabelMap } from "@bulrush/model";

/**
 * The labels of one thing: key ids (from {@link LabelKeys}) and values in turn. An array, because most things have few
 * labels: finding one by a scan over small integers beats hashing, and takes a fifth of a Map's memory.
 */
export type LabelSet = readonly (number | string)[];

export const NO_LABELS: LabelSet = Object.freeze([]) as LabelSet;

/** Places for strings that may be shared: a power of two. Only memory depends on which of them are found. */
const POOL_SIZE = 1 << 13;

/**
 * Gives label names small integers and makes label sets of maps.
 *
 * Invariant: an id, once given, means the same name for as long as the object lives. Names are never forgotten: a
 * cluster has few of them (values, which are many, are not numbered).
 */
export class LabelKeys {
  readonly #ids = new Map<string, number>();
  readonly #pool: string[] = Array.from({ length: POOL_SIZE }, () => "");
  readonly #scratch: (number | string)[] = [];

  get size(): number {
    return this.#ids.size;
  }

  idOf(name: string): number {
    let id = this.#ids.get(name);
    if (id === undefined) this.#ids.set(name, (id = this.#ids.size));
    return id;
  }

  makeSet(labels: LabelMap): LabelSet {
    if (labels.size === 0) return NO_LABELS;
    // Emptying the array would free its store: only what lies before `length` counts.
    const scratch = this.#scratch;
    let length = 0;
    for (const [name, value] of labels) {
      scratch[length++] = this.idOf(name);
      scratch[length++] = this.#shared(value);
    }
    // A copy has exactly the length it needs; an array that grew by pushes does not.
    return scratch.slice(0, length);
  }

  /**
   * One object for equal values, so that thousands of endpoints with "true" hold one string. Each place of the pool
   * remembers its latest string; a hash of length and last characters is enough, as values that differ do so there.
   */
  #shared(value: string): string {
    let hash = value.length;
    for (let i = Math.max(0, value.length - 6); i < value.length; i++) hash = (hash * 31 + value.charCodeAt(i)) | 0;
    const place = hash & (POOL_SIZE - 1);
    const known = this.#pool[place];
    if (known === value) return known;
    this.#pool[place] = value;
    return value;
  }
}

/** Equal in content and order. (A false "different" only costs time.) */
export function sameLabels(a: LabelSet, b: LabelSet): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
