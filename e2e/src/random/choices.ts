import { assert, type Random } from "@bulrush/base";

/** Random choices in the words of a generator. Everything follows from the source of randomness: the same, the same. */
export class Choices {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  /** A whole number, both ends included. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  pick<T>(list: readonly T[]): T {
    assert(list.length > 0, "Nothing to pick from");
    return list[this.below(list.length)] as T;
  }

  /** `min` to `max` elements, none twice, in random order; fewer where the list is short. */
  some<T>(list: readonly T[], min: number, max: number): T[] {
    const rest = [...list];
    const out: T[] = [];
    for (let wanted = this.between(min, max); wanted > 0 && rest.length > 0; wanted--)
      out.push(...rest.splice(this.below(rest.length), 1));
    return out;
  }

  /** What `make` makes, with this probability. */
  maybe<T>(probability: number, make: () => T): T | undefined {
    return this.chance(probability) ? make() : undefined;
  }
}

/** An object without its undefined fields: how manifests leave things out. */
export function definedFields<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
