import { compareStrings, sha224 } from "@bulrush/base";

/** Of a host's name, or of an address. */
export function hashOf(text: string): number {
  return new DataView(sha224(text).buffer).getUint32(0);
}

/**
 * The one host of several that answers for an address of a service: that whose name gives, together with the address, the
 * highest number (rendezvous hashing). Each host comes to the same answer by itself, and a host that comes or goes moves no
 * addresses but its own. `hosts`: names with their hashes.
 */
export function ownerOf(address: string, hosts: Iterable<readonly [name: string, hash: number]>): string | undefined {
  const hash = hashOf(address);
  let owner: string | undefined;
  let highest = -1;
  for (const [name, other] of hosts) {
    const weight = mixed(other ^ hash);
    if (weight < highest || (weight === highest && compareStrings(name, owner ?? "") < 0)) continue;
    owner = name;
    highest = weight;
  }
  return owner;
}

/** Each bit of what comes in changes about half of what comes out (the end of MurmurHash3, which is in the public domain). */
function mixed(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
