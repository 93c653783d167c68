import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { systemClock } from "@bulrush/base";
import { acquireLock, LOCK_NAME } from "./file-lock.ts";
import { type LockOwner, thisOwner } from "./lock-owner.ts";
import { removeLeftovers } from "./remove-leftovers.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-lock-"));
after(() => rmSync(root, { recursive: true }));
const clock = systemClock({ keepAlive: true });

function directory(): string {
  return mkdtempSync(join(root, "d"));
}

const here = thisOwner("somebody");
/** No process has this pid: the kernel's own bound is 4,194,304. */
const NO_PID = 4_194_305;

const rows: readonly [title: string, owner: Partial<LockOwner> | string, ageMs: number, isTaken: boolean][] = [
  ["waits for a process that lives", {}, 0, false],
  ["waits for a process that lives, however long", {}, 3_600_000, false],
  ["takes over from a process that is gone", { pid: NO_PID, startTime: "1" }, 0, true],
  ["takes over from a process whose pid is another's now", { startTime: "1" }, 0, true],
  ["takes over from an earlier boot", { bootId: "another" }, 0, true],
  ["waits for another machine", { host: "elsewhere", pid: NO_PID }, 0, false],
  ["takes over from another machine after a minute", { host: "elsewhere", pid: NO_PID }, 61_000, true],
  ["waits for another container", { pidNamespace: "pid:[1]", pid: NO_PID }, 0, false],
  ["waits for a lock that it cannot read", "", 0, false],
  ["takes over a lock that it cannot read after a minute", "{", 61_000, true],
];
for (const [title, owner, ageMs, isTaken] of rows) {
  test(`acquireLock() ${title}`, async () => {
    const path = directory();
    const file = join(path, LOCK_NAME);
    writeFileSync(file, typeof owner === "string" ? owner : JSON.stringify({ ...here, ...owner }));
    const atSeconds = (Date.now() - ageMs) / 1000;
    utimesSync(file, atSeconds, atSeconds);
    if (isTaken) {
      const lock = await acquireLock(path, { clock, timeoutMs: 0 });
      assert.deepEqual([lock.wasAbandoned, await lock.isHeld()], [true, true]);
      await lock.release();
      assert.deepEqual(readdirSync(path), []);
    } else {
      await assert.rejects(acquireLock(path, { clock, timeoutMs: 0 }), {
        code: "DATASTORE_LOCKED",
        message: /\.lock"/,
      });
      assert.deepEqual(readdirSync(path), [LOCK_NAME]);
    }
  });
}

test("acquireLock() gives the lock to one at a time", async () => {
  const path = directory();
  let holders = 0;
  let turns = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      const lock = await acquireLock(path, { clock, timeoutMs: 10_000 });
      holders++;
      assert.equal(holders, 1);
      await new Promise((resolve) => void setImmediate(resolve));
      holders--;
      turns++;
      await lock.release();
    }),
  );
  assert.deepEqual([turns, readdirSync(path)], [8, []]);
});

test("acquireLock() takes an abandoned lock away once, when many see it", async () => {
  const path = directory();
  writeFileSync(join(path, LOCK_NAME), JSON.stringify({ ...here, bootId: "another" }));
  let holders = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      const lock = await acquireLock(path, { clock, timeoutMs: 10_000 });
      assert.equal(++holders, 1);
      await new Promise((resolve) => void setImmediate(resolve));
      holders--;
      await lock.release();
    }),
  );
  assert.deepEqual(readdirSync(path), []);
});

test("acquireLock() takes a lock away that somebody ended in taking away", async () => {
  const path = directory();
  const text = JSON.stringify({ ...here, bootId: "another" });
  writeFileSync(join(path, LOCK_NAME), text);
  const name = createHash("sha256").update(text).digest("hex").slice(0, 32);
  writeFileSync(
    join(path, `.bulrush-lock-${name}.tmp`),
    JSON.stringify({ ...here, pid: NO_PID, startTime: "1", token: "taker" }),
  );
  const lock = await acquireLock(path, { clock, timeoutMs: 60_000 });
  assert.deepEqual([lock.wasAbandoned, await lock.isHeld()], [true, true]);
  await lock.release();
  assert.deepEqual(readdirSync(path), []);
});

test("acquireLock() leaves a lock alone that another is taking away", async () => {
  const path = directory();
  const text = JSON.stringify({ ...here, bootId: "another" });
  writeFileSync(join(path, LOCK_NAME), text);
  const name = createHash("sha256").update(text).digest("hex").slice(0, 32);
  const guard = `.bulrush-lock-${name}.tmp`;
  writeFileSync(join(path, guard), JSON.stringify({ ...here, token: "taker" }));
  await assert.rejects(acquireLock(path, { clock, timeoutMs: 0 }), { code: "DATASTORE_LOCKED" });
  assert.deepEqual(readdirSync(path).sort(), [guard, LOCK_NAME]);
});

test("release() leaves the lock of a holder that took over", async () => {
  const path = directory();
  const lock = await acquireLock(path, { clock, timeoutMs: 0 });
  const other = JSON.stringify({ ...here, token: "other" });
  writeFileSync(join(path, LOCK_NAME), other);
  assert.equal(await lock.isHeld(), false);
  await lock.release();
  assert.equal(readFileSync(join(path, LOCK_NAME), "utf8"), other);
});

test("removeLeftovers() removes what a killed writer left, and nobody's waiting place", async () => {
  const path = directory();
  for (const name of ["a.yaml", ".bulrush-12.tmp", ".bulrush-lock-1.tmp", ".other.tmp"])
    writeFileSync(join(path, name), "x");
  const places = { alive: {}, gone: { pid: NO_PID, startTime: "1" }, far: { host: "elsewhere" } };
  for (const [name, owner] of Object.entries(places))
    writeFileSync(join(path, `.bulrush-lock-${name}.tmp`), JSON.stringify({ ...here, ...owner }));
  const waiting = [".bulrush-lock-1.tmp", ".bulrush-lock-alive.tmp", ".bulrush-lock-far.tmp"];
  await removeLeftovers(path, Date.now());
  assert.deepEqual(readdirSync(path).sort(), [...waiting, ".other.tmp", "a.yaml"]);
  await removeLeftovers(path, Date.now() + 120_000);
  assert.deepEqual(readdirSync(path).sort(), [".bulrush-lock-alive.tmp", ".other.tmp", "a.yaml"]);
});
