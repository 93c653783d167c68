/** IFNAMSIZ (linux/if.h), less the NUL. */
const MAX_BYTES = 15;

/** False for names that no interface can have. The kernel would refuse all rules for the sake of one such name. */
export function canBeInterface(name: string): boolean {
  return name !== "" && Buffer.byteLength(name) <= MAX_BYTES;
}
