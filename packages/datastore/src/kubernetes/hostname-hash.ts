import { createHash } from "node:crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** A host name as a label value: unpadded base32 (RFC 4648) of its SHA3-256. */
export function hostnameHash(hostname: string): string {
  let text = "";
  let bits = 0;
  let value = 0;
  for (const byte of createHash("sha3-256").update(hostname).digest()) {
    value = (value << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET.charAt((value >>> (bits - 5)) & 31);
    value &= 31;
  }
  return bits > 0 ? text + ALPHABET.charAt((value << (5 - bits)) & 31) : text;
}
