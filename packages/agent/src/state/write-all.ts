import type { FileHandle } from "node:fs/promises";

/** How much is copied together for one call. */
const MAX_CHUNK_BYTES = 1024 * 1024;

/**
 * Writes the buffers, in order, where the file stands. A write that the system cuts short (a disk that is nearly full, a
 * signal) goes on with the rest. Throws what writing throws, and where the system takes no byte; some bytes may be in
 * the file then.
 */
export async function writeAll(file: Pick<FileHandle, "write">, buffers: readonly Uint8Array[]): Promise<void> {
  let chunk: Uint8Array[] = [];
  let chunkBytes = 0;
  for (const buffer of buffers) {
    if (chunkBytes > 0 && chunkBytes + buffer.length > MAX_CHUNK_BYTES) {
      await writeWhole(file, joined(chunk));
      chunk = [];
      chunkBytes = 0;
    }
    chunk.push(buffer);
    chunkBytes += buffer.length;
  }
  await writeWhole(file, joined(chunk));
}

function joined(chunk: readonly Uint8Array[]): Uint8Array {
  const [only] = chunk;
  return only !== undefined && chunk.length === 1 ? only : Buffer.concat(chunk);
}

async function writeWhole(file: Pick<FileHandle, "write">, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at);
    if (bytesWritten <= 0) throw new Error(`the disk took ${at} of ${bytes.length} bytes`);
    at += bytesWritten;
  }
}
