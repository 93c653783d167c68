/** Gives the next number in [0, 1), as `Math.random` does. */
export type Random = () => number;

/**
 * A small generator of random numbers (mulberry32): the same seed, the same sequence. For jitter that can be repeated
 * and for tests; never for secrets. Of `seed` the low 32 bits count.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
