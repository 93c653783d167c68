import { DatastoreError } from "../errors.ts";

/** The version and the variant of a UUID (RFC 9562) stand in bytes 6 and 8, which must stay as they are. */
const KEPT: ReadonlySet<number> = new Set([6, 8]);

function reverseBits(byte: number): number {
  let out = 0;
  for (let bit = 0; bit < 8; bit++) out |= ((byte >> bit) & 1) << (7 - bit);
  return out;
}

/**
 * The UID under which a CRD stores an object, from the one that users see, and back: every byte but two with its bits
 * reversed, so that no two objects share one.
 *
 * @throws DatastoreError DATASTORE_MALFORMED for anything that is no UUID.
 */
export function translateUid(uid: string): string {
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uid))
    throw new DatastoreError(`Expected a UUID, found "${uid}"`, { code: "DATASTORE_MALFORMED", data: { uid } });
  const bytes = Buffer.from(uid.replaceAll("-", ""), "hex").map((byte, i) => (KEPT.has(i) ? byte : reverseBits(byte)));
  const hex = Buffer.from(bytes).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
