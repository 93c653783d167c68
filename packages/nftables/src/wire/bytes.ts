/** Unsigned big-endian. */
export function bigEndian(value: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let rest = value;
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = rest & 255;
    rest = Math.floor(rest / 256);
  }
  return bytes;
}

/** Unsigned little-endian: host order on every machine that Bulrush runs on. */
export function littleEndian(value: number, length: number): Uint8Array {
  return bigEndian(value, length).reverse();
}

/** By memory order; the shorter of two equal beginnings first. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** The next larger number of the same length, or `undefined` after the largest. */
export function successor(bytes: Uint8Array): Uint8Array | undefined {
  const next = bytes.slice();
  for (let i = next.length - 1; i >= 0; i--) {
    if (next[i] !== 255) {
      next[i] = (next[i] ?? 0) + 1;
      return next;
    }
    next[i] = 0;
  }
  return undefined;
}

/** The next smaller number of the same length. Not for zero. */
export function predecessor(bytes: Uint8Array): Uint8Array {
  const next = bytes.slice();
  for (let i = next.length - 1; i >= 0; i--) {
    if (next[i] !== 0) {
      next[i] = (next[i] ?? 0) - 1;
      return next;
    }
    next[i] = 255;
  }
  return next;
}

/** Interface names end with NULs, in 16 bytes. `undefined` when the name does not fit. */
export function ifnameBytes(name: string): Uint8Array | undefined {
  const bytes = new Uint8Array(16);
  const text = Buffer.from(name, "utf8");
  if (text.length === 0 || text.length > 15) return undefined;
  bytes.set(text);
  return bytes;
}
