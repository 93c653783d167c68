/** Bytes that every thread of the process sees, as messages between threads carry them. Nobody changes them. */
export interface SharedBytes {
  readonly memory: SharedArrayBuffer;
  readonly offset: number;
  readonly length: number;
}

/** The same bytes in memory that other threads may see too. */
export function sharedCopy(bytes: Buffer): Buffer {
  const copy = Buffer.from(new SharedArrayBuffer(bytes.length));
  bytes.copy(copy);
  return copy;
}

/** For a message to another thread: bytes that are shared already are not copied. */
export function sharedBytes(bytes: Buffer): SharedBytes {
  const { buffer, byteOffset, length } = bytes.buffer instanceof SharedArrayBuffer ? bytes : sharedCopy(bytes);
  return { memory: buffer as unknown as SharedArrayBuffer, offset: byteOffset, length };
}

export function bufferOf({ memory, offset, length }: SharedBytes): Buffer {
  return Buffer.from(memory, offset, length);
}
