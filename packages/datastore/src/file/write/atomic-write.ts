import { randomBytes } from "node:crypto";
import { promises as fs } from "node:fs";
import { dirname, join } from "node:path";
import { hasCode } from "@bulrush/base";

/** How the names of a writer's own files begin; a dot keeps readers away from them. */
const OWN_PREFIX = ".bulrush";
const TEMPORARY_PREFIX = `${OWN_PREFIX}-`;
const TEMPORARY_SUFFIX = ".tmp";
/** Such a file belongs to somebody who waits for the lock. */
export const LOCK_CANDIDATE_PREFIX: string = `${TEMPORARY_PREFIX}lock-`;

export function isTemporary(name: string): boolean {
  return name.startsWith(TEMPORARY_PREFIX) && name.endsWith(TEMPORARY_SUFFIX);
}

/** A lock or a half-written file: whatever happens to it changes nothing that a reader sees. */
export function isOwnFile(name: string): boolean {
  return name.startsWith(OWN_PREFIX);
}

/** A file whose new contents are on the disk, and not in its place yet. */
export interface Prepared {
  /** Puts it in its place, at once for every reader. `syncDirectory` makes that last. */
  commit(): Promise<void>;
  /** Removes it. Never rejects. */
  discard(): Promise<void>;
}

/**
 * Writes `text` beside `path` and waits until the disk has it. A file that is there lends its mode and, where that is
 * allowed, its owner.
 */
export async function prepareFile(path: string, text: string): Promise<Prepared> {
  const temporary = join(dirname(path), `${TEMPORARY_PREFIX}${randomBytes(8).toString("hex")}${TEMPORARY_SUFFIX}`);
  const discard = (): Promise<void> => fs.rm(temporary, { force: true }).catch(() => {});
  try {
    const before = await fs.stat(path).catch(ignoreMissing);
    const handle = await fs.open(temporary, "wx", 0o666);
    try {
      await handle.writeFile(text);
      if (before !== undefined) {
        await handle.chmod(before.mode & 0o7777);
        const own = await handle.stat();
        if (own.uid !== before.uid || own.gid !== before.gid)
          await handle.chown(before.uid, before.gid).catch(() => {});
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    await discard();
    throw error;
  }
  return { commit: () => fs.rename(temporary, path), discard };
}

/** Makes renames and removals in a directory last. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await fs.open(path, "r");
  try {
    await handle.sync();
  } catch (error) {
    // Some file systems cannot; they have no weaker promise to give either.
    if (!hasCode(error, "EINVAL") && !hasCode(error, "ENOTSUP")) throw error;
  } finally {
    await handle.close();
  }
}

/** For `catch`: undefined for what is not there. */
export function ignoreMissing(error: unknown): undefined {
  if (!hasCode(error, "ENOENT")) throw error;
}
