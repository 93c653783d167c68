import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, truncateSync, unlinkSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { Update } from "@bulrush/model";
import { memoryLogger, type MemoryLogger } from "@bulrush/service";
import { StartCollector } from "../pipeline/start-collector.ts";
import { setting } from "../testing/agent-rig.ts";
import { deltaRecord } from "./state-files.ts";
import { StateStore } from "./state-store.ts";

/** Disks, crashes and frames that do not do what is asked of them. */
const root = mkdtempSync(join(tmpdir(), "bulrush-state-disk-"));
after(() => rmSync(root, { recursive: true }));

const fresh = (): string => join(mkdtempSync(join(root, "d")), "state");

function rig(
  directory: string,
  minJournalBytes?: number,
): { readonly store: StateStore; readonly logger: MemoryLogger } {
  const logger = memoryLogger();
  const more = minJournalBytes === undefined ? {} : { minJournalBytes };
  return { store: new StateStore({ directory, hostname: "h", clock: new ManualClock(1000), logger, ...more }), logger };
}

async function saved(directory: string, updates: readonly Update[], minJournalBytes?: number): Promise<StateStore> {
  const { store } = rig(directory, minJournalBytes);
  const base = store.begin();
  await base.write(updates);
  await base.done();
  return store;
}

async function resumed(directory: string, minJournalBytes?: number): Promise<StateStore> {
  const { store } = rig(directory, minJournalBytes);
  assert.notEqual(await store.read(() => {}), undefined);
  await store.resume();
  return store;
}

function contentsOf(collector: StartCollector): Record<string, unknown> {
  return Object.fromEntries([...collector.values()].map(({ path, value }) => [path.split("/").at(-1), value]));
}

async function found(directory: string): Promise<Record<string, unknown> | undefined> {
  const collector = new StartCollector();
  const { store } = rig(directory);
  if ((await store.read((updates) => collector.add(updates))) === undefined) return undefined;
  return contentsOf(collector);
}

function journals(directory: string): readonly string[] {
  return readdirSync(directory)
    .filter((name) => name.startsWith("journal."))
    .map((name) => join(directory, name));
}

async function fileHandlePrototype(): Promise<FileHandle> {
  const probe = await open("/dev/null");
  await probe.close();
  return Object.getPrototypeOf(probe) as FileHandle;
}

test("changes that are too big for one frame leave no gap: what comes after them is found, now and later", async () => {
  const directory = fresh();
  const store = await saved(directory, [setting("A", "old")]);
  // 18 MB of what cannot be compressed to less than half; a frame takes 16 MiB.
  const big = [0, 1, 2].map((i) => setting(`big${i}`, randomBytes(3_000_000).toString("hex")));
  store.append(big);
  store.append([setting("A", "new")]);
  const collector = new StartCollector();
  assert.equal(await store.readAgain((updates) => collector.add(updates)), true);
  await store.close();
  const expected = { A: "new", ...Object.fromEntries(big.map(({ value }, i) => [`big${i}`, value])) };
  // Not deepEqual of the values: what it would print has 18 MB.
  for (const [where, contents] of [
    ["now", contentsOf(collector)],
    ["later", (await found(directory)) ?? {}],
  ] as const)
    for (const [name, value] of Object.entries(expected)) assert.ok(contents[name] === value, `${name} ${where}`);
});

test("a live reading that does not reach the last change fails, and takes the state away", async () => {
  const directory = fresh();
  const store = await saved(directory, [setting("A", "old")]);
  store.append([setting("A", "new")]);
  await store.flush();
  assert.equal(await store.readAgain(() => {}), true);
  for (const journal of journals(directory)) truncateSync(journal, 20);
  assert.equal(await store.readAgain(() => {}), false);
  assert.equal(store.report().saving, false);
  assert.match(store.report().detail, /of 1 changes 0 can be read/);
  assert.equal(await found(directory), undefined);
  await store.close();
});

test("a merge that does not reach the last change fails, and takes the state away", async () => {
  const directory = fresh();
  const store = await saved(directory, [setting("A", "old")], 1000);
  store.append([setting("A", "new")]);
  await store.flush();
  for (const journal of journals(directory)) truncateSync(journal, 20);
  store.append([setting("long", "x".repeat(400) + randomBytes(1000).toString("hex"))]);
  await store.flush();
  assert.equal(store.report().saving, false);
  assert.equal(await found(directory), undefined);
  await store.close();
});

test("a merge of a base that is damaged fails", async () => {
  const directory = fresh();
  const store = await saved(directory, [setting("A", "old")], 1000);
  truncateSync(join(directory, "base"), 150);
  store.append([setting("long", randomBytes(1000).toString("hex"))]);
  await store.flush();
  assert.match(store.report().detail, /damaged/);
  assert.equal(await found(directory), undefined);
  await store.close();
});

test("a journal with a gap counts up to it, and the log says so; one that a crash cut off is nothing to speak of", async () => {
  const directory = fresh();
  const store = await saved(directory, [setting("A", "old")]);
  store.append([setting("A", "1")]);
  await store.close();
  const [journal = ""] = journals(directory);
  appendFileSync(journal, deltaRecord(2, [setting("A", "2")], 1000).subarray(0, 20));
  const cutOff = rig(directory);
  assert.notEqual(await cutOff.store.read(() => {}), undefined);
  assert.deepEqual(cutOff.logger.records, []);

  const other = fresh();
  await (await saved(other, [setting("A", "1")])).close();
  const [name = ""] = journals(other);
  appendFileSync(name, deltaRecord(2, [setting("A", "3")], 1000));
  const gap = rig(other);
  assert.notEqual(await gap.store.read(() => {}), undefined);
  assert.deepEqual(
    gap.logger.records.map(({ level, fields }) => [level, fields["journals"]]),
    [["warn", ["journal.1"]]],
  );
  assert.deepEqual(await found(other), { A: "1" });
});

test("writes that the system cuts short lose nothing, in base, journal and merge", async (t) => {
  const prototype = await fileHandlePrototype();
  // oxlint-disable-next-line typescript/unbound-method -- called with the handle it belongs to
  const whole = prototype.write as (
    this: FileHandle,
    bytes: Uint8Array,
    at: number,
    length: number,
  ) => Promise<{ readonly bytesWritten: number }>;
  const { mock } = t.mock.method(prototype, "write", function short(
    this: FileHandle,
    bytes: Uint8Array,
    at = 0,
    length = bytes.length - at,
  ) {
    return whole.call(this, bytes, at, Math.min(length, 7));
  } as typeof prototype.write);
  const directory = fresh();
  const store = await saved(directory, [setting("A", "1"), setting("B", "1")], 500);
  for (let i = 2; i < 20; i++) {
    store.append([setting("A", String(i))]);
    await store.flush();
  }
  assert.equal(store.report().saving, true);
  await store.close();
  assert.ok(mock.callCount() > 20);
  assert.deepEqual(await found(directory), { A: "19", B: "1" });
});

test("a disk that takes no byte more ends the keeping", async (t) => {
  const directory = fresh();
  const store = await saved(directory, [setting("A", "1")]);
  const prototype = await fileHandlePrototype();
  t.mock.method(prototype, "write", (async (bytes: Uint8Array) => ({
    bytesWritten: 0,
    buffer: bytes,
  })) as typeof prototype.write);
  store.append([setting("A", "2")]);
  await store.flush();
  assert.equal(store.report().saving, false);
  assert.equal(await found(directory), undefined);
  await store.close();
});

for (const minJournalBytes of [undefined, 1]) {
  const merged = minJournalBytes === undefined ? "" : ", and merged";
  test(`a crash between a new base and its journal: what the next life appends is found${merged}`, async () => {
    const directory = fresh();
    await (await saved(directory, [setting("A", "old"), setting("B", "1")])).close();
    for (const journal of journals(directory)) unlinkSync(journal);
    const second = await resumed(directory, minJournalBytes);
    second.append([setting("A", "new")]);
    await second.close();
    assert.equal(second.report().saving, true);
    assert.deepEqual(await found(directory), { A: "new", B: "1" });
    const third = await resumed(directory);
    third.append([setting("C", "1")]);
    await third.close();
    assert.deepEqual(await found(directory), { A: "new", B: "1", C: "1" });
  });
}

test("a disk that hangs: the report says so when 64 MiB wait, nothing more is kept, and later the state goes", async (t) => {
  const directory = fresh();
  const store = await saved(directory, [setting("A", "old")]);
  const prototype = await fileHandlePrototype();
  const hangs = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  t.mock.method(prototype, "write", (async (bytes: Uint8Array, _at: number, length: number) => {
    called.resolve();
    await hangs.promise;
    return { bytesWritten: length, buffer: bytes };
  }) as typeof prototype.write);
  // 6 MB each; the first is in the hands of the disk, and counts.
  const big = [setting("big", randomBytes(3_000_000).toString("hex"))];
  store.append(big);
  await called.promise;
  const isSaving: boolean[] = [];
  for (let i = 1; i < 30; i++) {
    store.append(big);
    isSaving.push(store.report().saving);
  }
  const until = isSaving.indexOf(false);
  // Compressed to half at best, so 3 MB to 6 MB each.
  assert.ok(until >= 9 && until <= 22, `${until} of them were kept`);
  assert.ok(!isSaving.slice(until).includes(true));
  assert.match(store.report().detail, /bytes wait for the disk/);
  assert.equal(store.report().bytes, 0);

  hangs.resolve();
  await store.flush();
  t.mock.restoreAll();
  assert.equal(await found(directory), undefined);
  // The next beginning is none the worse for it.
  const base = store.begin();
  await base.write([setting("A", "1")]);
  await base.done();
  store.append([setting("A", "2")]);
  await store.close();
  assert.deepEqual(await found(directory), { A: "2" });
});

test("what was queued before a disk hung does not end up in what is begun after it", async (t) => {
  const directory = fresh();
  const store = await saved(directory, [setting("A", "old")]);
  const prototype = await fileHandlePrototype();
  const hangs = Promise.withResolvers<void>();
  // oxlint-disable-next-line typescript/unbound-method -- called with the handle it belongs to
  const write = prototype.write as (this: FileHandle, ...args: unknown[]) => ReturnType<FileHandle["write"]>;
  t.mock.method(prototype, "write", async function slow(this: FileHandle, ...args: unknown[]) {
    await hangs.promise;
    return write.apply(this, args);
  } as typeof prototype.write);
  store.append([setting("A", "1")]);
  const old = store.begin();
  void old.write([setting("stale", "1")]);
  // No frame takes such a path.
  store.append([{ ...setting("A", "2"), path: `/${"x".repeat(3000)}` }]);
  assert.equal(store.report().saving, false);
  const base = store.begin();
  void base.write([setting("A", "3")]);
  const done = base.done();
  store.append([setting("B", "1")]);
  hangs.resolve();
  await done;
  await store.close();
  assert.equal(store.report().saving, true);
  assert.deepEqual(await found(directory), { A: "3", B: "1" });
});
