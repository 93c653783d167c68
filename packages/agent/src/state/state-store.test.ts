import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { Update } from "@bulrush/model";
import { memoryLogger, type MemoryLogger } from "@bulrush/service";
import fc from "fast-check";
import { StartCollector } from "../pipeline/start-collector.ts";
import { setting } from "../testing/agent-rig.ts";
import { StateStore } from "./state-store.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-state-"));
after(() => rmSync(root, { recursive: true }));

interface Rig {
  readonly store: StateStore;
  readonly logger: MemoryLogger;
  readonly clock: ManualClock;
}

function rig(directory: string, more: { hostname?: string; minJournalBytes?: number } = {}): Rig {
  const logger = memoryLogger();
  const clock = new ManualClock(1000);
  return { store: new StateStore({ directory, hostname: "h", clock, logger, ...more }), logger, clock };
}

const fresh = (): string => join(mkdtempSync(join(root, "d")), "state");

async function save(store: StateStore, updates: readonly Update[]): Promise<void> {
  const base = store.begin();
  await base.write(updates);
  await base.done();
}

/** What another process finds: settings by name; undefined where nothing is of use. */
async function found(directory: string, hostname = "h"): Promise<Record<string, unknown> | undefined> {
  const collector = new StartCollector();
  const { store } = rig(directory, { hostname });
  if ((await store.read((updates) => collector.add(updates))) === undefined) return undefined;
  return contentsOf(collector);
}

function contentsOf(collector: StartCollector): Record<string, unknown> {
  return Object.fromEntries([...collector.values()].map(({ path, value }) => [path.split("/").at(-1), value]));
}

test("what was saved and appended is found, with the time of the newest", async () => {
  const directory = fresh();
  const { store, clock } = rig(directory);
  await save(store, [setting("A", "1"), setting("B", "1")]);
  await clock.advance(500);
  store.append([setting("A", "2"), setting("B", undefined), setting("C", "1")]);
  await store.close();
  assert.deepEqual(await found(directory), { A: "2", C: "1" });
  assert.deepEqual(await rig(directory).store.read(() => {}), { atMs: 1500 });
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600);
});

test("an agent that goes on after what it found keeps what was there", async () => {
  const directory = fresh();
  const first = rig(directory).store;
  await save(first, [setting("A", "1")]);
  first.append([setting("B", "1")]);
  await first.close();
  const second = rig(directory).store;
  await second.read(() => {});
  await second.resume();
  second.append([setting("A", undefined), setting("C", "1")]);
  await second.close();
  assert.deepEqual(await found(directory), { B: "1", C: "1" });
});

test("what is appended while everything is saved anew comes after it", async () => {
  const directory = fresh();
  const { store } = rig(directory);
  await save(store, [setting("A", "old")]);
  store.append([setting("gone", "1")]);
  const base = store.begin();
  store.append([setting("A", "newest")]);
  await base.write([setting("A", "new"), setting("B", "1")]);
  await base.done();
  await store.close();
  assert.deepEqual(await found(directory), { A: "newest", B: "1" });
});

test("a save that did not end leaves the one before", async () => {
  const directory = fresh();
  const { store } = rig(directory);
  await save(store, [setting("A", "1")]);
  store.append([setting("B", "1")]);
  await store.flush();
  await store.begin().write([setting("other", "1")]);
  await store.close();
  assert.deepEqual(await found(directory), { A: "1", B: "1" });
});

test("a journal cut off anywhere gives a prefix of what was appended, and the next agent goes on from there", async () => {
  const directory = fresh();
  const { store } = rig(directory);
  await save(store, [setting("n", "0")]);
  for (let i = 1; i <= 5; i++) {
    store.append([setting("n", String(i))]);
    await store.flush();
  }
  await store.close();
  const journal = join(directory, readdirSync(directory).find((name) => name.startsWith("journal.")) ?? "");
  let newest = 5;
  for (let size = statSync(journal).size; size > 0; size -= 7) {
    truncateSync(journal, size);
    const n = Number((await found(directory))?.["n"]);
    assert.ok(n <= newest && n >= newest - 1, `${n} after ${newest}`);
    newest = n;
  }
  assert.equal(newest, 0);
  const next = rig(directory).store;
  await next.read(() => {});
  await next.resume();
  next.append([setting("m", "1")]);
  await next.close();
  assert.deepEqual(await found(directory), { n: "0", m: "1" });
});

test("a journal with a wrong byte counts up to it", async () => {
  const directory = fresh();
  const { store } = rig(directory);
  await save(store, [setting("n", "0")]);
  store.append([setting("n", "1")]);
  await store.close();
  const journal = join(directory, readdirSync(directory).find((name) => name.startsWith("journal.")) ?? "");
  const bytes = readFileSync(journal);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 3) ^ 1, bytes.length - 3);
  writeFileSync(journal, bytes);
  assert.deepEqual(await found(directory), { n: "0" });
});

const UNUSABLE: readonly (readonly [title: string, spoil: (directory: string) => void, reason: RegExp])[] = [
  ["a base that is cut off", (d) => truncateSync(join(d, "base"), statSync(join(d, "base")).size - 1), /damaged/],
  ["a base without its end", (d) => truncateSync(join(d, "base"), 150), /damaged/],
  ["an empty base", (d) => truncateSync(join(d, "base"), 0), /not of this version/],
  [
    "something else",
    (d) => writeFileSync(join(d, "base"), "hello, this is no state of anybody"),
    /not of this version/,
  ],
];
for (const [title, spoil, reason] of UNUSABLE) {
  test(`${title} is of no use, and the log says so`, async () => {
    const directory = fresh();
    const { store } = rig(directory);
    await save(store, [setting("A", "1"), setting("B", "2")]);
    await store.close();
    spoil(directory);
    const next = rig(directory);
    assert.equal(await next.store.read(() => {}), undefined);
    assert.match(String(next.logger.records[0]?.fields["reason"]), reason);
  });
}

test("the state of another host is of no use, and nothing at all is no problem", async () => {
  const directory = fresh();
  const { store, logger } = rig(directory);
  assert.equal(await store.read(() => {}), undefined);
  assert.deepEqual(logger.records, []);
  await save(store, [setting("A", "1")]);
  await store.close();
  assert.equal(await found(directory, "other"), undefined);
});

test("a long journal is merged into the base", async () => {
  const directory = fresh();
  const { store } = rig(directory, { minJournalBytes: 2000 });
  await save(store, [setting("A", "1"), setting("B", "1"), setting("C", "1")]);
  store.append([setting("B", undefined)]);
  for (let i = 0; i < 200; i++) {
    store.append([setting("A", String(i)), setting(`n${i % 3}`, String(i))]);
    await store.flush();
  }
  const bytes = readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
  assert.ok(bytes < 5000, `${bytes} bytes`);
  assert.equal(store.report().bytes, bytes);
  await store.close();
  assert.deepEqual(await found(directory), { A: "199", C: "1", n0: "198", n1: "199", n2: "197" });
});

test("what cannot be written ends the keeping, takes the old state away, and says why", async () => {
  const directory = fresh();
  const { store, logger } = rig(directory);
  await save(store, [setting("A", "1")]);
  assert.deepEqual(store.report().saving, true);
  // No frame takes such a path.
  store.append([{ ...setting("A", "2"), path: `/${"x".repeat(3000)}` }]);
  await store.flush();
  assert.deepEqual([store.report().saving, store.report().bytes], [false, 0]);
  assert.match(store.report().detail, /cannot be saved: .*path/);
  assert.equal(logger.records.at(-1)?.level, "error");
  assert.equal(await found(directory), undefined);
  store.append([setting("A", "3")]);
  await store.close();
});

test("a directory that cannot be made is said, and nothing more comes of it", async () => {
  const directory = join(fresh(), "..", "file");
  appendFileSync(directory, "");
  const { store } = rig(join(directory, "state"));
  await save(store, [setting("A", "1")]);
  assert.match(store.report().detail, /ENOTDIR/);
  await store.close();
});

test("whatever is appended and whenever agents end, the newest of each key is found", async () => {
  const name = fc.constantFrom("A", "B", "C", "D");
  const step = fc.oneof(
    fc.record({ op: fc.constant("append" as const), name, value: fc.option(fc.string({ maxLength: 40 })) }),
    fc.record({ op: fc.constantFrom("flush" as const, "restart" as const, "begin" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const directory = fresh();
      const model = new StartCollector();
      let { store } = rig(directory, { minJournalBytes: 300 });
      await save(store, []);
      for (const one of steps) {
        if (one.op === "append") {
          const updates = [setting(one.name, one.value ?? undefined)];
          model.add(updates);
          store.append(updates);
        } else if (one.op === "flush") await store.flush();
        else if (one.op === "begin") await save(store, [...model.values()]);
        else {
          await store.close();
          ({ store } = rig(directory, { minJournalBytes: 300 }));
          await store.read(() => {});
          await store.resume();
        }
      }
      await store.close();
      assert.deepEqual(await found(directory), contentsOf(model));
    }),
    { numRuns: 30 },
  );
});
