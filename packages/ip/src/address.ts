export type Family = 4 | 6;

/**
 * An address. `words` are unsigned 32-bit numbers in network order: one for IPv4, four for IPv6.
 * Values are immutable; compare with {@link compareAddresses}, not with `===`.
 */
export interface Address {
  readonly family: Family;
  readonly words: readonly number[];
}

function parseIPv4(text: string): number | undefined {
  let value = 0;
  let octet = -1;
  let digits = 0;
  let dots = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 46) {
      if (octet < 0 || ++dots > 3) return undefined;
      value = value * 256 + octet;
      octet = -1;
      digits = 0;
    } else if (code >= 48 && code <= 57) {
      // A leading zero is refused: readers disagree whether it means octal.
      if (digits > 0 && octet === 0) return undefined;
      octet = octet < 0 ? code - 48 : octet * 10 + code - 48;
      if (++digits > 3 || octet > 255) return undefined;
    } else return undefined;
  }
  if (dots !== 3 || octet < 0) return undefined;
  return value * 256 + octet;
}

function parseGroups(text: string): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (part.includes(".")) {
      const v4 = i === parts.length - 1 ? parseIPv4(part) : undefined;
      if (v4 === undefined) return undefined;
      groups.push(v4 >>> 16, v4 & 0xffff);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
      groups.push(Number.parseInt(part, 16));
    }
  }
  return groups;
}

function parseIPv6(text: string): number[] | undefined {
  const gap = text.indexOf("::");
  let groups: number[] | undefined;
  if (gap < 0) groups = parseGroups(text);
  else {
    if (text.indexOf("::", gap + 1) >= 0) return undefined;
    const head = parseGroups(text.slice(0, gap));
    const tail = parseGroups(text.slice(gap + 2));
    if (head === undefined || tail === undefined || head.length + tail.length > 7) return undefined;
    groups = [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail];
  }
  if (groups?.length !== 8) return undefined;
  const words: number[] = [];
  for (let i = 0; i < 8; i += 2) words.push((((groups[i] ?? 0) << 16) | (groups[i + 1] ?? 0)) >>> 0);
  return words;
}

/** Reads an address in any usual text form. `undefined` when it is none. IPv4-mapped IPv6 becomes IPv4, as in Go. */
export function parseAddress(text: string): Address | undefined {
  if (!text.includes(":")) {
    const word = parseIPv4(text);
    return word === undefined ? undefined : { family: 4, words: [word] };
  }
  const words = parseIPv6(text);
  if (words === undefined) return undefined;
  if (words[0] === 0 && words[1] === 0 && words[2] === 0xffff) return { family: 4, words: [words[3] ?? 0] };
  return { family: 6, words };
}

/** Canonical text: dotted quad, or RFC 5952. */
export function formatAddress(address: Address): string {
  if (address.family === 4) {
    const word = address.words[0] ?? 0;
    return `${word >>> 24}.${(word >>> 16) & 255}.${(word >>> 8) & 255}.${word & 255}`;
  }
  const groups: number[] = [];
  for (const word of address.words) groups.push(word >>> 16, word & 0xffff);
  let bestStart = -1;
  let bestLength = 1;
  for (let i = 0; i < 8; ) {
    if (groups[i] !== 0) {
      i++;
      continue;
    }
    let end = i;
    while (end < 8 && groups[end] === 0) end++;
    if (end - i > bestLength) {
      bestStart = i;
      bestLength = end - i;
    }
    i = end;
  }
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(":");
  if (bestStart < 0) return hex(groups);
  return `${hex(groups.slice(0, bestStart))}::${hex(groups.slice(bestStart + bestLength))}`;
}

/** IPv4 before IPv6, then by number. */
export function compareAddresses(a: Address, b: Address): number {
  if (a.family !== b.family) return a.family - b.family;
  for (let i = 0; i < a.words.length; i++) {
    const difference = (a.words[i] ?? 0) - (b.words[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The 4 or 16 bytes in network order. */
export function addressBytes(address: Address): Uint8Array {
  const bytes = new Uint8Array(address.words.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [i, word] of address.words.entries()) view.setUint32(i * 4, word);
  return bytes;
}

/** The inverse of {@link addressBytes}: 4 bytes make IPv4, 16 make IPv6 (never mapped back). */
export function addressFromBytes(bytes: Uint8Array): Address {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const words: number[] = [];
  for (let i = 0; i + 4 <= bytes.byteLength; i += 4) words.push(view.getUint32(i));
  return { family: words.length === 1 ? 4 : 6, words };
}
