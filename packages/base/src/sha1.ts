import { sha1 as hash } from "@noble/hashes/legacy.js";

const ENCODER = new TextEncoder();

/** SHA-1 of bytes, or of the UTF-8 bytes of text: 20 bytes. Only where an existing format asks for it. */
export function sha1(data: Uint8Array | string): Uint8Array {
  return hash(typeof data === "string" ? ENCODER.encode(data) : data);
}
