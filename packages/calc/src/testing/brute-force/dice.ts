import type { Random } from "@bulrush/base";

/** Random choices. */
export interface Dice {
  readonly next: Random;
  /** From 0 to below `n`. */
  readonly below: (n: number) => number;
  readonly chance: (p: number) => boolean;
  readonly pick: <T>(list: readonly T[]) => T;
  /** Up to `max` of the list, each at most once, in random order. */
  readonly some: <T>(list: readonly T[], max?: number) => T[];
  /** Up to `max` made values. */
  readonly many: <T>(max: number, make: () => T) => T[];
}

export function dice(next: Random): Dice {
  const below = (n: number): number => Math.floor(next() * n);
  return {
    next,
    below,
    chance: (p) => next() < p,
    pick: (list) => list[below(list.length)] as (typeof list)[number],
    some: (list, max = list.length) => {
      const rest = [...list];
      const out: (typeof rest)[number][] = [];
      for (let n = below(Math.min(max, rest.length) + 1); n > 0; n--) out.push(...rest.splice(below(rest.length), 1));
      return out;
    },
    many: (max, make) => Array.from({ length: below(max + 1) }, make),
  };
}
