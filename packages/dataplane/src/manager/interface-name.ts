/** IFNAMSIZ (linux/if.h), less the NUL. */
const MAX_BYTES = 15;

/** What dev_valid_name() of the kernel refuses, and NUL, which ends a name: "cali1\0" would be one name with "cali1". */
const REFUSED = /[\0/:\s]|^\.\.?$/;

/** False for names that no interface can have. The kernel would refuse all rules for the sake of one such name. */
export function canBeInterface(name: string): boolean {
  return name !== "" && name.isWellFormed() && Buffer.byteLength(name) <= MAX_BYTES && !REFUSED.test(name);
}
