import { type Address, compareAddresses, type Family, formatAddress, parseAddress } from "./address.ts";

/** A network. `words` are masked unless the text that it came from was not and the caller kept it so. */
export interface Cidr {
  readonly family: Family;
  readonly words: readonly number[];
  /** 0 to 32, or 128. */
  readonly prefixLength: number;
}

/** 32 or 128. */
export function maxPrefixLength(family: Family): number {
  return family === 4 ? 32 : 128;
}

function wordMask(prefixLength: number, index: number): number {
  const bits = Math.min(32, Math.max(0, prefixLength - index * 32));
  return bits === 0 ? 0 : (0xffffffff << (32 - bits)) >>> 0;
}

/**
 * Reads `address/length`, or a bare address as a network of one. Host bits are kept: see {@link maskCidr} and
 * {@link isMasked}. `undefined` when it is neither. The length must be plain decimal.
 */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  const address = parseAddress(slash < 0 ? text : text.slice(0, slash));
  if (address === undefined) return undefined;
  // "::ffff:10.0.0.0/104" would become an IPv4 address with a length that is not one: refused.
  if (slash >= 0 && address.family === 4 && text.includes(":")) return undefined;
  if (slash < 0) return { family: address.family, words: address.words, prefixLength: maxPrefixLength(address.family) };
  const prefixLength = parseLength(text, slash + 1);
  if (prefixLength === undefined || prefixLength > maxPrefixLength(address.family)) return undefined;
  return { family: address.family, words: address.words, prefixLength };
}

/** Up to three digits, without a leading zero. */
function parseLength(text: string, start: number): number | undefined {
  const digits = text.length - start;
  if (digits < 1 || digits > 3 || (digits > 1 && text.charCodeAt(start) === 48)) return undefined;
  let value = 0;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 48 || code > 57) return undefined;
    value = value * 10 + code - 48;
  }
  return value;
}

/** The network with its host bits cleared. */
export function maskCidr(cidr: Cidr): Cidr {
  return { ...cidr, words: cidr.words.map((word, i) => (word & wordMask(cidr.prefixLength, i)) >>> 0) };
}

/** True when no host bit is set. */
export function isMasked(cidr: Cidr): boolean {
  return cidr.words.every((word, i) => (word & wordMask(cidr.prefixLength, i)) >>> 0 === word);
}

/** Always with a length. Host bits are printed as they are. */
export function formatCidr(cidr: Cidr): string {
  return `${formatAddress(cidr)}/${cidr.prefixLength}`;
}

/** The network of this address alone: /32 or /128. */
export function cidrOf(address: Address): Cidr {
  return { family: address.family, words: address.words, prefixLength: maxPrefixLength(address.family) };
}

/** True for a network of one address. */
export function isHostCidr(cidr: Cidr): boolean {
  return cidr.prefixLength === maxPrefixLength(cidr.family);
}

/** False for an address of the other family. */
export function containsAddress(cidr: Cidr, address: Address): boolean {
  if (cidr.family !== address.family) return false;
  return cidr.words.every((word, i) => ((word ^ (address.words[i] ?? 0)) & wordMask(cidr.prefixLength, i)) === 0);
}

/** True when `inner` lies wholly in `outer` (equal counts). */
export function containsCidr(outer: Cidr, inner: Cidr): boolean {
  return outer.prefixLength <= inner.prefixLength && containsAddress(outer, inner);
}

/** The last address of the network. */
export function lastAddress(cidr: Cidr): Address {
  return { family: cidr.family, words: cidr.words.map((word, i) => (word | ~wordMask(cidr.prefixLength, i)) >>> 0) };
}

/** By address, then shorter prefixes first. */
export function compareCidrs(a: Cidr, b: Cidr): number {
  return compareAddresses(a, b) || a.prefixLength - b.prefixLength;
}

/** `parse`, mask and print in one step: the canonical text of a network, or `undefined`. */
export function canonicalCidr(text: string): string | undefined {
  const cidr = parseCidr(text);
  return cidr === undefined ? undefined : formatCidr(maskCidr(cidr));
}
