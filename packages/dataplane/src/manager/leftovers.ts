import type { DesiredSet } from "../desired/desired-set.ts";

/**
 * Addresses of a hash set whose place a network in the interval set of the same IP set has taken, and networks whose
 * addresses are single ones now. They stay in the kernel until the batch that brings their successor is through, and go
 * with the next one.
 *
 * Why: a batch switches rules and hash sets at one stroke, and shows what is new in an interval set a moment later; and
 * a packet on its way through a rule may ask one set before the stroke and the other after it. An address that moved in
 * one batch would be in neither for that packet.
 *
 *     keep() ──> fresh ──turn(): batch with the successor──> ripe ──turn(): to be deleted
 *
 * Invariant: no element is in both, and none is wanted.
 */
export class Leftovers {
  #fresh = new Map<DesiredSet, Set<string>>();
  #ripe = new Map<DesiredSet, Set<string>>();

  /** True when something goes with the next turn. */
  get isPending(): boolean {
    return this.#fresh.size + this.#ripe.size > 0;
  }

  keep(part: DesiredSet, element: string): void {
    const elements = this.#fresh.get(part) ?? new Set();
    this.#fresh.set(part, elements.add(element));
  }

  /** The element is wanted in its own right again. */
  forget(part: DesiredSet, element: string): void {
    for (const kept of [this.#fresh, this.#ripe]) {
      const elements = kept.get(part);
      if (elements?.delete(element) === true && elements.size === 0) kept.delete(part);
    }
  }

  /** What is kept of a set. */
  of(part: DesiredSet): string[] {
    return [...(this.#fresh.get(part) ?? []), ...(this.#ripe.get(part) ?? [])];
  }

  /** The set is gone, and all its elements with it. */
  forgetAll(part: DesiredSet): void {
    this.#fresh.delete(part);
    this.#ripe.delete(part);
  }

  /** To be called once before each batch: gives what may go with it. */
  turn(): ReadonlyMap<DesiredSet, ReadonlySet<string>> {
    const due = this.#ripe;
    this.#ripe = this.#fresh;
    this.#fresh = new Map();
    return due;
  }
}
