import { promises as fs } from "node:fs";
import { join } from "node:path";
import { isTemporary, LOCK_CANDIDATE_PREFIX } from "./atomic-write.ts";
import { isGone, parseOwner, thisOwner } from "./lock-owner.ts";

/** Removes the half-written files of a writer that was killed. Only for the holder of the lock. */
export async function removeLeftovers(directory: string, nowMs: number): Promise<void> {
  for (const entry of await fs.readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !isTemporary(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const isPlace = entry.name.startsWith(LOCK_CANDIDATE_PREFIX);
    if (!isPlace || (await isNobodys(path, nowMs))) await fs.rm(path, { force: true });
  }
}

/** True for the waiting place of a process that does not wait any more. */
async function isNobodys(path: string, nowMs: number): Promise<boolean> {
  try {
    const [text, { mtimeMs }] = await Promise.all([fs.readFile(path, "utf8"), fs.stat(path)]);
    return isGone(parseOwner(text), thisOwner(""), nowMs - mtimeMs);
  } catch {
    // Gone with its owner.
    return false;
  }
}
