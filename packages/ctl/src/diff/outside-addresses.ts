import { type Address, type Cidr, formatAddress, parseAddress } from "@bulrush/ip";
import type { Traits } from "./traits.ts";

/** An address of nobody who is known, which stands for all that rules cannot tell from it. */
export interface OutsideAddress {
  readonly address: string;
  /** The smallest network around it that rules know; absent for a single address, and elsewhere. */
  readonly network?: string;
  /** True for what no rule names: it stands for the rest of the world. */
  readonly isElsewhere: boolean;
}

/** From networks for documentation (RFC 5737, RFC 3849), and one more each, should rules name those. */
const ELSEWHERE = [
  ["203.0.113.7", "198.51.100.7", "192.0.2.7", "8.8.8.8"],
  ["2001:db8::7", "2001:db8:ffff::7", "2620:fe::fe"],
];

/**
 * One address for each set of traits that an address can have which no endpoint has. Networks nest, so whatever a network
 * has for itself, outside of the networks in it, begins or ends at an edge of one of them: the edges are enough.
 */
export function outsideAddresses(traits: Traits, isKnown: (address: string) => boolean): readonly OutsideAddress[] {
  const found = new Map<string, OutsideAddress>();
  const offer = (address: Address): void => {
    const text = formatAddress(address);
    const key = `${address.family} ${traits.of(address)}`;
    if (found.has(key) || isKnown(text)) return;
    const network = traits.smallestNetwork(address);
    found.set(key, { address: text, isElsewhere: false, ...(network !== undefined && { network }) });
  };
  for (const candidates of ELSEWHERE) {
    const free = candidates
      .map((text) => parseAddress(text))
      .find((address) => address !== undefined && traits.of(address) === "" && !isKnown(formatAddress(address)));
    if (free !== undefined) found.set(`${free.family} `, { address: formatAddress(free), isElsewhere: true });
  }
  for (const text of traits.addresses) {
    const address = parseAddress(text);
    if (address !== undefined) offer(address);
  }
  for (const cidr of traits.networks) for (const edge of edgesOf(cidr)) offer(edge);
  return [...found.values()];
}

/** The first and last addresses, a second one where the first may be somebody's, and those just outside. */
function edgesOf(cidr: Cidr): readonly Address[] {
  const { family } = cidr;
  const bits = family === 4 ? 32 : 128;
  const size = 1n << BigInt(bits - cidr.prefixLength);
  const first = (toNumber(cidr.words) / size) * size;
  const last = first + size - 1n;
  return [first, first + 1n, first + 2n, last, last - 1n, first - 1n, last + 1n]
    .filter((number) => number >= 0n && number < 1n << BigInt(bits))
    .map((number) => ({ family, words: toWords(number, bits / 32) }));
}

function toNumber(words: readonly number[]): bigint {
  return words.reduce((sum, word) => (sum << 32n) | BigInt(word >>> 0), 0n);
}

function toWords(number: bigint, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => Number((number >> BigInt(32 * (count - 1 - i))) & 0xffff_ffffn));
}
