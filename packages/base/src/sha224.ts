import { sha224 as hash } from "@noble/hashes/sha2.js";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const ENCODER = new TextEncoder();

/** SHA-224 of bytes, or of the UTF-8 bytes of text: 28 bytes. Runs in a browser too. */
export function sha224(data: Uint8Array | string): Uint8Array {
  return hash(typeof data === "string" ? ENCODER.encode(data) : data);
}

/** Unpadded base64url (RFC 4648 section 5). */
export function base64Url(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const a = bytes[i] ?? 0;
    const b = bytes[i + 1];
    const c = bytes[i + 2];
    text += ALPHABET.charAt(a >>> 2) + ALPHABET.charAt(((a & 3) << 4) | ((b ?? 0) >>> 4));
    if (b !== undefined) text += ALPHABET.charAt(((b & 15) << 2) | ((c ?? 0) >>> 6));
    if (c !== undefined) text += ALPHABET.charAt(c & 63);
  }
  return text;
}
