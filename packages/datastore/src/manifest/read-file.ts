import { promises as fs } from "node:fs";
import { messageOf } from "@bulrush/base";
import { type ParsedManifest, parseManifest } from "./parse.ts";

export const DEFAULT_MAX_FILE_BYTES: number = 16 * 1024 * 1024;
export const DEFAULT_MAX_FILES = 20_000;

/** Parses the bytes of a manifest. Never throws. */
export function parseManifestBytes(bytes: Uint8Array, file: string): ParsedManifest {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return failed(file, "Not UTF-8 text");
  }
  return parseManifest(text, file);
}

/** A file that could not be read at all. */
export function failed(file: string, message: string): ParsedManifest {
  return { resources: [], problems: [{ severity: "error", message, source: { file, document: 0, line: 0 } }] };
}

/** Reads and parses a file of at most `maxBytes`. Never throws. */
export async function readManifestFile(absolute: string, file: string, maxBytes: number): Promise<ParsedManifest> {
  try {
    const handle = await fs.open(absolute, "r");
    try {
      const { size } = await handle.stat();
      if (size > maxBytes) return failed(file, `The file has ${size} bytes, more than ${maxBytes}`);
      return parseManifestBytes(await readBounded(handle, size, maxBytes), file);
    } finally {
      await handle.close();
    }
  } catch (error) {
    return failed(file, `Cannot read the file: ${messageOf(error)}`);
  }
}

/** The file may grow while it is read: never more than the bound. */
async function readBounded(handle: fs.FileHandle, size: number, maxBytes: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.min(size + 1, maxBytes));
  let used = 0;
  while (used < buffer.length) {
    const { bytesRead } = await handle.read(buffer, used, buffer.length - used, used);
    used += bytesRead;
    // All of it, most often at the first try: the one byte of room is left.
    if (bytesRead === 0 || used === size) break;
  }
  return buffer.subarray(0, used);
}
