import { assert } from "@bulrush/base";
import type { KeyField, SetState } from "@bulrush/nftables";

/**
 * A set as wanted, and how far the kernel is behind.
 *
 * Invariant: `#behind` is empty while the set is not applied (then everything is to be written), and never holds an
 * element both ways: true for one to be added, false for one to be deleted.
 */
export class DesiredSet {
  readonly name: string;
  readonly key: readonly KeyField[];
  readonly interval: boolean;
  readonly #elements = new Set<string>();
  readonly #behind = new Map<string, boolean>();
  #applied = false;

  constructor(name: string, key: readonly KeyField[], interval: boolean) {
    this.name = name;
    this.key = key;
    this.interval = interval;
  }

  get size(): number {
    return this.#elements.size;
  }

  get isApplied(): boolean {
    return this.#applied;
  }

  /** The live elements; they may be deleted while they are walked. */
  get elements(): Iterable<string> {
    return this.#elements;
  }

  has(element: string): boolean {
    return this.#elements.has(element);
  }

  /** True when the element was not there. */
  add(element: string): boolean {
    const before = this.#elements.size;
    if (this.#elements.add(element).size === before) return false;
    if (this.#applied && !this.#behind.delete(element)) this.#behind.set(element, true);
    return true;
  }

  /** True when the element was there. */
  delete(element: string): boolean {
    if (!this.#elements.delete(element)) return false;
    if (this.#applied && !this.#behind.delete(element)) this.#behind.set(element, false);
    return true;
  }

  /** Makes the elements exactly these. */
  replace(elements: Iterable<string>): void {
    const wanted = new Set(elements);
    for (const element of this.#elements) if (!wanted.has(element)) this.delete(element);
    for (const element of wanted) this.add(element);
  }

  /** The whole set. `elements` is the live set: read it before the next change. */
  state(): SetState {
    return { name: this.name, key: this.key, interval: this.interval, elements: this.#elements };
  }

  /** Two states whose difference is what the kernel lacks: small, however large the set is. */
  difference(): { readonly desired: SetState; readonly current: SetState } {
    assert(this.#applied, () => `Set ${this.name} is not in the kernel`);
    const added = new Set<string>();
    const removed = new Set<string>();
    for (const [element, isNew] of this.#behind) (isNew ? added : removed).add(element);
    return { desired: { ...this.state(), elements: added }, current: { ...this.state(), elements: removed } };
  }

  /** The kernel has it as it is now; or it has nothing of it. */
  markApplied(applied: boolean): void {
    this.#applied = applied;
    this.#behind.clear();
  }
}
