import { MAX_RECORD_FIELDS, RECORD_ID_COUNT } from "./records.ts";

/** Some of the shapes of a table, a bit for each. */
export interface ShapeSet {
  low: number;
  high: number;
}

/** A shape has an id once it was asked for so often: ids are few, and rare shapes should not take them all. */
const ASKED_FIRST = 16;
/** Shapes without an id that are counted. */
const MAX_COUNTED = 1024;

/**
 * The shapes (field names, in order) of the records of many KVs, each with an id that it keeps.
 *
 * Invariant: `shapes` only grows, to RECORD_ID_COUNT at most, and has no shape twice.
 */
export class ShapeTable {
  readonly shapes: (readonly string[])[] = [];
  readonly #counts = new Map<string, number>();
  readonly #sets = new Set<string>();
  #hasTwins = false;
  #last = 0;

  /** Two shapes have the same names in another order. */
  get hasTwins(): boolean {
    return this.#hasTwins;
  }

  /** The id of a shape, counted from 0; -1 where it has none. */
  indexOf(names: readonly string[]): number {
    const { shapes } = this;
    const { length } = shapes;
    // Nearly always the one that follows the last one.
    for (let i = 0, at = this.#last; i < length; i++, at = at + 1 === length ? 0 : at + 1) {
      if (!isSameShape(shapes[at] as readonly string[], names)) continue;
      this.#last = at + 1 === length ? 0 : at + 1;
      return at;
    }
    return this.#ask(names);
  }

  #ask(names: readonly string[]): number {
    const { shapes } = this;
    if (shapes.length === RECORD_ID_COUNT || names.length > MAX_RECORD_FIELDS) return -1;
    // Readers give this field another name.
    if (names.includes("__proto__")) return -1;
    const counts = this.#counts;
    const name = JSON.stringify(names);
    const count = (counts.get(name) ?? 0) + 1;
    if (count < ASKED_FIRST) {
      if (counts.size === MAX_COUNTED) counts.clear();
      counts.set(name, count);
      return -1;
    }
    counts.delete(name);
    const set = JSON.stringify(names.toSorted());
    if (this.#sets.has(set)) this.#hasTwins = true;
    this.#sets.add(set);
    return shapes.push(names.slice()) - 1;
  }
}

export function isSameShape(shape: readonly string[], names: readonly string[]): boolean {
  if (shape.length !== names.length) return false;
  for (let i = 0; i < names.length; i++) if (shape[i] !== names[i]) return false;
  return true;
}
