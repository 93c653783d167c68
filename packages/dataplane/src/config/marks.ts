import type { MarkBits } from "./dataplane-config.ts";

/** Bits that the ruleset needs of the mask. */
const NEEDED = 5;

/**
 * Hands out the bits of `mask` from the lowest up: accept, pass, drop, scratch 0, scratch 1.
 * `undefined` when the mask has too few bits or is not an unsigned 32-bit number.
 */
export function allocateMarks(mask: number): MarkBits | undefined {
  if (!Number.isInteger(mask) || mask < 0 || mask > 0xffffffff) return undefined;
  const [accept, pass, drop, scratch0, scratch1] = bitsOf(mask);
  if (
    accept === undefined ||
    pass === undefined ||
    drop === undefined ||
    scratch0 === undefined ||
    scratch1 === undefined
  )
    return undefined;
  return { accept, pass, drop, scratch0, scratch1 };
}

/** The bit of packets that WireGuard must not take: the first behind those of {@link allocateMarks}. 0: there is none. */
export function wireguardMark(mask: number): number {
  return bitsOf(mask)[NEEDED] ?? 0;
}

function bitsOf(mask: number): number[] {
  const bits: number[] = [];
  for (let shift = 0; shift < 32 && bits.length <= NEEDED; shift++) {
    const bit = 2 ** shift;
    if (Math.floor(mask / bit) % 2 === 1) bits.push(bit);
  }
  return bits;
}
