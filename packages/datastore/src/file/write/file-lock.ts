import { createHash, randomBytes } from "node:crypto";
import { promises as fs } from "node:fs";
import { dirname, join } from "node:path";
import { Backoff, type Clock, sleep } from "@bulrush/base";
import { DatastoreError } from "../../errors.ts";
import { ignoreMissing, LOCK_CANDIDATE_PREFIX } from "./atomic-write.ts";
import { isGone, type LockOwner, parseOwner, thisOwner } from "./lock-owner.ts";

/** The name of the lock in the directory that it is for. */
export const LOCK_NAME = ".bulrush.lock";

export interface LockOptions {
  readonly clock: Clock;
  /** How long to wait for another holder. */
  readonly timeoutMs: number;
}

export interface FileLock {
  /** The lock of a holder that was gone had to be taken away: what it left half done may lie about. */
  readonly wasAbandoned: boolean;
  /** False once somebody took it away, who held us for gone. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Takes the lock of a directory: the file {@link LOCK_NAME}, which names its holder. It is made elsewhere and linked into
 * its place, so that it is never there without its contents.
 *
 * @throws DatastoreError DATASTORE_LOCKED with the holder, if that does not let go in time.
 */
export async function acquireLock(directory: string, { clock, timeoutMs }: LockOptions): Promise<FileLock> {
  const path = join(directory, LOCK_NAME);
  const owner = thisOwner(randomBytes(8).toString("hex"));
  const candidate = join(directory, `${LOCK_CANDIDATE_PREFIX}${owner.token}.tmp`);
  const backoff = new Backoff({ initialMs: 5, maxMs: 200 }, Math.random);
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  let wasAbandoned = false;
  try {
    await fs.writeFile(candidate, JSON.stringify(owner), { flag: "wx" });
    while (!(await linkOnce(candidate, path))) {
      const holder = await holderOf(path);
      if (holder === undefined) continue;
      if (isGone(holder.owner, owner, clock.nowMs() - holder.sinceMs)) {
        if (await takeAway(path, holder.text, { candidate, owner, clock })) {
          wasAbandoned = true;
          continue;
        }
      }
      if (clock.monotonicMs() >= deadlineMs) throw lockedBy(path, holder);
      await sleep(clock, backoff.nextMs());
    }
  } finally {
    await fs.rm(candidate, { force: true }).catch(() => {});
  }
  const isHeld = async (): Promise<boolean> => (await holderOf(path))?.owner?.token === owner.token;
  return {
    wasAbandoned,
    isHeld,
    release: async () => {
      if (await isHeld()) await fs.rm(path, { force: true });
    },
  };
}

interface Holder {
  readonly text: string;
  readonly owner: LockOwner | undefined;
  readonly sinceMs: number;
}

async function holderOf(path: string): Promise<Holder | undefined> {
  const [text, stat] = await Promise.all([
    fs.readFile(path, "utf8").catch(ignoreMissing),
    fs.stat(path).catch(ignoreMissing),
  ]);
  return text === undefined || stat === undefined
    ? undefined
    : { text, owner: parseOwner(text), sinceMs: stat.mtimeMs };
}

async function linkOnce(from: string, to: string): Promise<boolean> {
  try {
    await fs.link(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

interface Taker {
  /** A file with the taker's own contents. */
  readonly candidate: string;
  readonly owner: LockOwner;
  readonly clock: Clock;
}

/**
 * Removes a file of a holder that is gone, and says whether it did. Many may try this at once, and the file may have been
 * replaced by one of a holder that lives: only who has linked the file's own guard may remove it, and contents never come
 * again, as they have a random token. The guard of somebody who ended in between is removed in the same way.
 */
async function takeAway(path: string, text: string, taker: Taker): Promise<boolean> {
  const name = createHash("sha256").update(text).digest("hex").slice(0, 32);
  const guard = join(dirname(path), `${LOCK_CANDIDATE_PREFIX}${name}.tmp`);
  if (!(await linkOnce(taker.candidate, guard))) {
    const other = await holderOf(guard);
    if (other !== undefined && isGone(other.owner, taker.owner, taker.clock.nowMs() - other.sinceMs))
      await takeAway(guard, other.text, taker);
    return false;
  }
  try {
    if ((await fs.readFile(path, "utf8").catch(ignoreMissing)) !== text) return false;
    await fs.rm(path, { force: true });
    return true;
  } finally {
    await fs.rm(guard, { force: true });
  }
}

function lockedBy(path: string, { owner, sinceMs }: Holder): DatastoreError {
  const who = owner === undefined ? "Somebody" : `Process ${owner.pid} on ${owner.host}`;
  const message = `${who} has been writing since ${new Date(sinceMs).toISOString()} and does not finish`;
  return new DatastoreError(`${message}; the lock is "${path}"`, {
    code: "DATASTORE_LOCKED",
    op: "Write manifests",
    data: { path, ...(owner !== undefined && { pid: owner.pid, host: owner.host }) },
  });
}
