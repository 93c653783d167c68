/** The verdict register. */
export const REG_VERDICT = 0;
/** The first of the data registers. */
export const REG_1 = 1;

/**
 * The register at the n-th 4-byte word of the register file (0 to 15), under the name that the kernel itself uses:
 *
 *     word      0  1  2  3 | 4  5  6  7 | 8 ...
 *     16 bytes  1          | 2          | 3
 *     4 bytes   8  9 10 11 | 12 13 14 15|
 */
export function registerAt(word: number): number {
  return word % 4 === 0 ? word / 4 + 1 : word + 8;
}
