import { randomBytes } from "node:crypto";

const KEY_BYTES = 32;

/** A private key of Curve25519 in base64, in the form that it has to have (RFC 7748, section 5). */
export function newWireguardKey(): string {
  const bytes = randomBytes(KEY_BYTES);
  bytes.writeUInt8(bytes.readUInt8(0) & 248, 0);
  bytes.writeUInt8((bytes.readUInt8(31) & 127) | 64, 31);
  return bytes.toString("base64");
}
