import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";

/**
 * A file of records, each with its length and checksum, so that what a crash left half written is noticed.
 *
 * ```
 *  record = bytes of the body, u32 big-endian | CRC-32 (RFC 1952) of the body, u32 big-endian | body
 * ```
 */
const HEADER_BYTES = 8;
/** More than any frame of the sync protocol has: a longer one is no record of ours. */
const MAX_BODY_BYTES = 17 * 1024 * 1024;
const READ_BYTES = 256 * 1024;

export function encodeRecord(body: Uint8Array): Buffer {
  const record = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  record.writeUInt32BE(body.length, 0);
  record.writeUInt32BE(crc32(body), 4);
  record.set(body, HEADER_BYTES);
  return record;
}

/**
 * The bodies of a file's records, up to the first that is not whole. Throws what opening and reading throw (ENOENT). The
 * buffers are the caller's.
 */
export async function* readRecords(path: string): AsyncGenerator<Buffer, void> {
  const file = await open(path, "r");
  try {
    let waiting: Buffer = Buffer.alloc(0);
    /** False at the end of the file. */
    const have = async (bytes: number): Promise<boolean> => {
      while (waiting.length < bytes) {
        const more = await readSome(file, Math.max(READ_BYTES, bytes - waiting.length));
        if (more.length === 0) return false;
        waiting = Buffer.concat([waiting, more]);
      }
      return true;
    };
    while (await have(HEADER_BYTES)) {
      const length = waiting.readUInt32BE(0);
      const checksum = waiting.readUInt32BE(4);
      if (length > MAX_BODY_BYTES || !(await have(HEADER_BYTES + length))) return;
      const body = waiting.subarray(HEADER_BYTES, HEADER_BYTES + length);
      if (crc32(body) !== checksum) return;
      waiting = waiting.subarray(HEADER_BYTES + length);
      yield body;
    }
  } finally {
    await file.close();
  }
}

async function readSome(file: FileHandle, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes);
  const { bytesRead } = await file.read(buffer, 0, bytes, null);
  return buffer.subarray(0, bytesRead);
}
