import { promises as fs } from "node:fs";
import { join } from "node:path";
import { isTemporary, LOCK_CANDIDATE_PREFIX } from "./atomic-write.ts";

/** Longer than anybody waits for the lock. */
const CANDIDATE_MAX_AGE_MS = 60_000;

/** Removes the half-written files of a writer that was killed. Only for the holder of the lock. */
export async function removeLeftovers(directory: string, nowMs: number): Promise<void> {
  for (const entry of await fs.readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !isTemporary(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    if (entry.name.startsWith(LOCK_CANDIDATE_PREFIX)) {
      const { mtimeMs } = await fs.stat(path);
      if (nowMs - mtimeMs < CANDIDATE_MAX_AGE_MS) continue;
    }
    await fs.rm(path, { force: true });
  }
}
