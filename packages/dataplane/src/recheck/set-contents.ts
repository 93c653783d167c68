import { canonicalCidr } from "@bulrush/ip";
import type { SetState } from "@bulrush/nftables";

/** Asks sets of a table what they hold. Prefix lengths of interval sets are remembered: use it while no set changes. */
export class SetContents {
  readonly #sets: ReadonlyMap<string, SetState>;
  readonly #lengths = new Map<string, readonly number[]>();

  constructor(sets: ReadonlyMap<string, SetState>) {
    this.#sets = sets;
  }

  /** `undefined` when there is no such set. `key`: an address, or the fields of a concatenation joined by " . ". */
  has(name: string, key: string): boolean | undefined {
    const set = this.#sets.get(name);
    if (set === undefined) return undefined;
    if (set.elements.has(key)) return true;
    if (!set.interval) return false;
    return this.#lengthsOf(set).some((length) => set.elements.has(canonicalCidr(`${key}/${length}`) ?? ""));
  }

  #lengthsOf(set: SetState): readonly number[] {
    let lengths = this.#lengths.get(set.name);
    if (lengths === undefined) {
      const found = new Set<number>();
      for (const element of set.elements) {
        const slash = element.lastIndexOf("/");
        if (slash >= 0) found.add(Number(element.slice(slash + 1)));
      }
      lengths = [...found];
      this.#lengths.set(set.name, lengths);
    }
    return lengths;
  }
}
