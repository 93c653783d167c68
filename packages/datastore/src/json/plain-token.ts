// Constants of another module are looked up at each use: a quarter more time.
const QUOTE = 0x22;
const COMMA = 0x2c;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;
const CLOSE_OBJECT = 0x7d;

/*
 * The ends of tokens that stand in a piece as nearly all of them do: whole, with no spaces, no escapes but of one
 * character, and numbers of digits only. Nearly all bytes go through here. No byte beyond the end of the piece is asked
 * for: that would make every access slow.
 */

/** 1 for each byte that means only itself in a string. Control characters must be escaped there. */
const PLAIN: Uint8Array = bytesThat((byte) => byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH);
/** 1 for what may follow a backslash, but for `u`. */
const ESCAPED: Uint8Array = bytesThat((byte) => '"\\/bfnrt'.includes(String.fromCharCode(byte)));

const TRUE: Uint8Array = Buffer.from("true");
const FALSE: Uint8Array = Buffer.from("false");
const NULL: Uint8Array = Buffer.from("null");

/** The token is not whole, or not of the plain sort: perhaps no token at all. Any other end is at least 0. */
const NOT_PLAIN = -1;

/** Past the quote that ends a string; `from` is past the one that begins it. */
export function endOfPlainString(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let i = from;
  while (i < length) {
    const byte = bytes[i++] as number;
    if (PLAIN[byte] === 1) continue;
    if (byte === QUOTE) return i;
    if (byte !== BACKSLASH || i === length || ESCAPED[bytes[i] as number] !== 1) return NOT_PLAIN;
    i++;
  }
  return NOT_PLAIN;
}

/** Past the colon after the name of a field. */
export function endOfPlainName(bytes: Uint8Array, from: number): number {
  if (from === bytes.length || bytes[from] !== QUOTE) return NOT_PLAIN;
  const end = endOfPlainString(bytes, from + 1);
  return end >= 0 && end < bytes.length && bytes[end] === COLON ? end + 1 : NOT_PLAIN;
}

/** Past the colon after the name of a field that has no escapes at all. */
export function endOfBareName(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  if (from === length || bytes[from] !== QUOTE) return NOT_PLAIN;
  let i = from + 1;
  while (i < length && PLAIN[bytes[i] as number] === 1) i++;
  return i + 1 < length && bytes[i] === QUOTE && bytes[i + 1] === COLON ? i + 2 : NOT_PLAIN;
}

/** Past a number, true, false or null, where something follows. */
export function endOfPlainScalar(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let i = from;
  while (i < length && (bytes[i] as number) >= DIGIT_0 && (bytes[i] as number) <= DIGIT_9) i++;
  if (i === length) return NOT_PLAIN;
  if (i === from) i = endOfWord(bytes, from);
  else if (bytes[from] === DIGIT_0 && i > from + 1) return NOT_PLAIN;
  if (i < 0) return NOT_PLAIN;
  const next = bytes[i] as number;
  return next === COMMA || next === CLOSE_OBJECT || next === CLOSE_LIST ? i : NOT_PLAIN;
}

function endOfWord(bytes: Uint8Array, from: number): number {
  const word = wordOf(bytes[from] as number);
  if (word === undefined || bytes.length - from <= word.length) return NOT_PLAIN;
  for (let i = 1; i < word.length; i++) if (bytes[from + i] !== word[i]) return NOT_PLAIN;
  return from + word.length;
}

/** Whether the byte means only itself in a string. */
export function isPlain(byte: number): boolean {
  return PLAIN[byte] === 1;
}

/** Whether it may follow a backslash, `u` aside. */
export function isEscaped(byte: number): boolean {
  return ESCAPED[byte] === 1;
}

/** The word that begins with the byte. */
export function wordOf(byte: number): Uint8Array | undefined {
  return byte === LETTER_N ? NULL : byte === LETTER_T ? TRUE : byte === LETTER_F ? FALSE : undefined;
}

function bytesThat(has: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (has(byte) ? 1 : 0));
}
