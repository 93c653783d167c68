const DIGITS = "0123456789abcdef";

/** "0x0a000001": bytes in the order in which they lie in memory. */
export function hex(bytes: Uint8Array): string {
  let text = "0x";
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    text += DIGITS.charAt(byte >>> 4) + DIGITS.charAt(byte & 15);
  }
  return text;
}
