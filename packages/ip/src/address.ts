/** IP version. */
export type Family = 4 | 6;

/**
 * An address. `words` are unsigned 32-bit numbers in network order: one for IPv4, four for IPv6.
 * Values are immutable; compare with {@link compareAddresses}, not with `===`.
 */
export interface Address {
  readonly family: Family;
  readonly words: readonly number[];
}

/** The number of a dotted quad; `undefined` for anything else. What it takes is canonical text: no leading zeros. */
export function parseIPv4(text: string): number | undefined {
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

/** Groups of the address being read. */
const groups = new Uint16Array(8);

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 97 && code <= 102) return code - 87;
  return code >= 65 && code <= 70 ? code - 55 : -1;
}

/** One pass: this is read for every address of a cluster. */
function parseIPv6(text: string): number[] | undefined {
  const end = text.length;
  let count = 0;
  let gap = -1;
  let i = 0;
  if (text.startsWith("::")) {
    gap = 0;
    i = 2;
  }
  while (i < end) {
    const start = i;
    let value = 0;
    for (let digit = 0; i < end && (digit = hexDigit(text.charCodeAt(i))) >= 0; i++) value = value * 16 + digit;
    const digits = i - start;
    if (i < end && text.charCodeAt(i) === 46) {
      // The last two groups may be written as an IPv4 address.
      const v4 = count <= 6 ? parseIPv4(text.slice(start)) : undefined;
      if (v4 === undefined) return undefined;
      groups[count++] = v4 >>> 16;
      groups[count++] = v4 & 0xffff;
      break;
    }
    if (digits === 0 || digits > 4 || count === 8) return undefined;
    groups[count++] = value;
    if (i === end) break;
    if (text.charCodeAt(i) !== 58 || i + 1 === end) return undefined;
    i++;
    if (text.charCodeAt(i) !== 58) continue;
    if (gap >= 0) return undefined;
    gap = count;
    i++;
  }
  // A gap stands for one group at least.
  if (gap < 0 ? count !== 8 : count > 7) return undefined;
  const shift = 8 - count;
  const at = (n: number): number => {
    if (gap < 0 || n < gap) return groups[n] ?? 0;
    return n < gap + shift ? 0 : (groups[n - shift] ?? 0);
  };
  const words: number[] = [];
  for (let n = 0; n < 8; n += 2) words.push(((at(n) << 16) | at(n + 1)) >>> 0);
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
  const { words } = address;
  const group = (n: number): number => ((words[n >> 1] ?? 0) >>> (n % 2 === 0 ? 16 : 0)) & 0xffff;
  let bestStart = -1;
  let bestLength = 1;
  for (let i = 0; i < 8; ) {
    let end = i;
    while (end < 8 && group(end) === 0) end++;
    if (end - i > bestLength) {
      bestStart = i;
      bestLength = end - i;
    }
    i = end + 1;
  }
  let text = "";
  for (let i = 0; i < 8; i++) {
    if (i === bestStart) {
      text += "::";
      i += bestLength - 1;
    } else text += text === "" || text.endsWith(":") ? group(i).toString(16) : `:${group(i).toString(16)}`;
  }
  return text;
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
  const { words } = address;
  const bytes = new Uint8Array(words.length * 4);
  for (let i = 0, at = 0; i < words.length; i++, at += 4) {
    const word = words[i] ?? 0;
    bytes[at] = word >>> 24;
    bytes[at + 1] = word >>> 16;
    bytes[at + 2] = word >>> 8;
    bytes[at + 3] = word;
  }
  return bytes;
}

/** The inverse of {@link addressBytes}: 4 bytes make IPv4, 16 make IPv6 (never mapped back). */
export function addressFromBytes(bytes: Uint8Array): Address {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const words: number[] = [];
  for (let i = 0; i + 4 <= bytes.byteLength; i += 4) words.push(view.getUint32(i));
  return { family: words.length === 1 ? 4 : 6, words };
}
