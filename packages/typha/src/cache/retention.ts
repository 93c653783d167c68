import { type Breadcrumb, CRUMB_OVERHEAD_BYTES } from "./breadcrumb.ts";
import type { Slot } from "./slab.ts";

/** What a slot held before a breadcrumb. */
export interface UndoEntry {
  readonly position: number;
  readonly before: Slot | undefined;
}

interface Retained {
  readonly crumb: Breadcrumb;
  readonly undo: readonly UndoEntry[];
  readonly bytes: number;
}

/** Guess at an old KV that only `undo` keeps alive: an object, or its share of a slab that has moved. */
const OLD_KV_BYTES = 1024;

/**
 * The newest breadcrumbs, for clients that come back. The head is always held; older ones as far as the budget goes.
 *
 * Invariant: `#items` from `#start` on have consecutive sequences; `#bytes` is the sum of their `bytes`.
 */
export class Retention {
  readonly #maxBytes: number;
  #items: (Retained | undefined)[] = [];
  #start = 0;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#items.length - this.#start;
  }

  /** Sequence of the oldest breadcrumb that is held. */
  get oldestSequence(): number {
    return this.#items[this.#start]?.crumb.sequence ?? 0;
  }

  add(crumb: Breadcrumb, undo: readonly UndoEntry[]): void {
    let bytes = crumb.frame.length + CRUMB_OVERHEAD_BYTES;
    for (const entry of undo) if (entry.before !== undefined) bytes += OLD_KV_BYTES;
    this.#items.push({ crumb, undo, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes && this.count > 1) this.#dropOldest();
  }

  at(sequence: number): Breadcrumb | undefined {
    const oldest = this.#items[this.#start];
    return oldest === undefined ? undefined : this.#items[this.#start + sequence - oldest.crumb.sequence]?.crumb;
  }

  /** What the slots that changed after `sequence` held at it; `undefined` when that breadcrumb is not held. */
  before(sequence: number): ReadonlyMap<number, Slot | undefined> | undefined {
    const oldest = this.#items[this.#start];
    if (oldest === undefined || this.at(sequence) === undefined) return undefined;
    const held = new Map<number, Slot | undefined>();
    for (let i = this.#start + sequence - oldest.crumb.sequence + 1; i < this.#items.length; i++) {
      for (const { position, before } of this.#items[i]?.undo ?? []) {
        if (!held.has(position)) held.set(position, before);
      }
    }
    return held;
  }

  #dropOldest(): void {
    this.#bytes -= this.#items[this.#start]?.bytes ?? 0;
    this.#items[this.#start++] = undefined;
    if (this.#start > 1024 && this.#start * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#start);
      this.#start = 0;
    }
  }
}
