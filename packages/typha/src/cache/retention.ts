import { PackedKV } from "@bulrush/proto";
import { type Breadcrumb, CRUMB_OVERHEAD_BYTES } from "./breadcrumb.ts";
import { objectBytes } from "./object-size.ts";
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

/** Guess at what an entry of `undo` costs. */
const ENTRY_BYTES = 32;
/** Guess at what a packed KV costs beside its bytes. */
const PACKED_OVERHEAD_BYTES = 160;

/**
 * The newest breadcrumbs, for clients that come back. The head is always held; older ones as far as the budget goes,
 * which counts their frames and the KVs that they replaced.
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

  /** Packed KVs are copied: they would keep the memory of all their neighbours. */
  add(crumb: Breadcrumb, undo: readonly UndoEntry[]): void {
    const own = ownUndo(undo);
    let bytes = crumb.frame.length + CRUMB_OVERHEAD_BYTES;
    for (const { before } of own) bytes += ENTRY_BYTES + (before === undefined ? 0 : slotBytes(before));
    this.#items.push({ crumb, undo: own, bytes });
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

function slotBytes(slot: Slot): number {
  return slot instanceof PackedKV ? PACKED_OVERHEAD_BYTES + slot.end - slot.start : objectBytes(slot);
}

/** The same with their packed KVs in memory of their own, one piece for all. */
function ownUndo(undo: readonly UndoEntry[]): readonly UndoEntry[] {
  let size = 0;
  for (const { before } of undo) if (before instanceof PackedKV) size += before.end - before.start;
  if (size === 0) return undo;
  // Not from the pool, of which others would keep the rest.
  const bytes = Buffer.allocUnsafeSlow(size);
  let at = 0;
  return undo.map((entry) => {
    const { position, before } = entry;
    if (!(before instanceof PackedKV)) return entry;
    const { source, start, end, tail, low, high, sum } = before;
    const from = at;
    at += source.copy(bytes, at, start, end);
    return { position, before: new PackedKV(bytes, from, at, tail, low, high, sum) };
  });
}
