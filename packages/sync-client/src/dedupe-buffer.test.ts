import assert from "node:assert/strict";
import { test } from "node:test";
import type { SyncStatus } from "@bulrush/model";
import { BucketDigests, bucketCountFor, bucketOf, hashValue, type KV } from "@bulrush/proto";
import fc from "fast-check";
import { type BufferedStep, DedupeBuffer } from "./dedupe-buffer.ts";

function kv(path: string, value: unknown, revision = "r"): KV {
  return { path, value, revision, updateType: value === undefined ? "deleted" : "unknown" };
}

/** Everything that waits, in short form: `+a=1` new, `~a=2` updated, `-a` deleted, `#3` mark, statuses by name. */
function drain(buffer: DedupeBuffer, maxUpdates = 100): string[] {
  const out: string[] = [];
  for (let step = buffer.take(maxUpdates); step !== undefined; step = buffer.take(maxUpdates))
    out.push(...describe(step));
  return out;
}

function describe(step: BufferedStep): string[] {
  if (step.type === "updates")
    return step.updates.map(({ path, value, type }) =>
      type === "deleted" ? `-${path}` : `${type === "new" ? "+" : "~"}${path}=${String(value)}`,
    );
  return [...(step.status === undefined ? [] : [step.status]), ...(step.mark === undefined ? [] : [`#${step.mark}`])];
}

/** A buffer whose consumer has a=1, b=2 and is in sync. */
function synced(): DedupeBuffer {
  const buffer = new DedupeBuffer();
  buffer.startSnapshot();
  buffer.onKVs([kv("a", 1), kv("b", 2)]);
  buffer.onMark(1);
  buffer.onStatus("in-sync");
  assert.deepEqual(drain(buffer), ["resync", "+a=1", "+b=2", "in-sync", "#1"]);
  return buffer;
}

type Action = (buffer: DedupeBuffer) => void;
const set =
  (...pairs: readonly (readonly [string, unknown])[]): Action =>
  (buffer) =>
    buffer.onKVs(pairs.map(([path, value]) => kv(path, value)));
const status =
  (value: SyncStatus): Action =>
  (buffer) =>
    buffer.onStatus(value);
const mark =
  (value: number): Action =>
  (buffer) =>
    buffer.onMark(value);
const snapshot: Action = (buffer) => buffer.startSnapshot();
const GONE = undefined;

const CASES: readonly (readonly [string, readonly Action[], readonly string[]])[] = [
  ["a change is updated", [set(["a", 5])], ["~a=5"]],
  ["a new key is new", [set(["c", 3])], ["+c=3"]],
  ["a removed key is deleted", [set(["a", GONE])], ["-a"]],
  ["an equal value is nothing", [set(["a", 1])], []],
  ["the newest value takes the old place", [set(["a", 5], ["b", 6]), set(["a", 7])], ["~a=7", "~b=6"]],
  ["a value and back is nothing", [set(["a", 5]), set(["a", 1])], []],
  ["made and removed vanishes", [set(["c", 3]), set(["c", GONE])], []],
  ["removed and made again is updated", [set(["a", GONE]), set(["a", 5])], ["~a=5"]],
  ["removed and made again with the same value is nothing", [set(["a", GONE]), set(["a", 1])], []],
  ["removing what never was is nothing", [set(["c", GONE])], []],
  [
    "what comes back after vanishing goes to the end",
    [set(["c", 3], ["d", 4], ["c", GONE], ["c", 5])],
    ["+d=4", "+c=5"],
  ],
  ["a status after its KVs", [set(["a", 5]), status("resync"), set(["b", 6])], ["~a=5", "resync", "~b=6"]],
  ["an equal status is nothing", [status("in-sync")], []],
  ["statuses side by side merge", [set(["a", 5]), status("resync"), status("in-sync")], ["~a=5"]],
  ["statuses merge to the last", [status("resync"), status("in-sync"), status("resync")], ["resync"]],
  ["marks side by side merge", [set(["a", 5]), mark(2), mark(3)], ["~a=5", "#3"]],
  ["a mark with its KVs", [set(["a", 5]), mark(2), set(["b", 6]), mark(3)], ["~a=5", "#2", "~b=6", "#3"]],
  ["a mark without a change still comes", [set(["a", 1]), mark(2)], ["#2"]],
  ["marks merge when what stood between vanishes", [mark(2), set(["c", 3]), mark(3), set(["c", GONE])], ["#3"]],
  ["a status survives such a merge", [status("resync"), set(["c", 3]), mark(3), set(["c", GONE])], ["resync", "#3"]],
  ["an old KV moves not past a control", [set(["a", 5]), mark(2), set(["a", 6]), mark(3)], ["~a=6", "#3"]],
  ["a new snapshot that is the same", [snapshot, set(["b", 2], ["a", 1]), mark(2), status("in-sync")], ["#2"]],
  [
    "a new snapshot with differences",
    [snapshot, set(["b", 3], ["c", 4]), mark(2), status("in-sync")],
    ["resync", "~b=3", "+c=4", "#2", "-a", "in-sync"],
  ],
  ["nothing is removed before in-sync", [snapshot, set(["b", 2]), mark(2), status("resync")], ["resync", "#2"]],
  ["a server that is not ready takes nothing", [snapshot, mark(2), status("wait-for-ready")], ["resync", "#2"]],
  [
    "deltas before in-sync count as seen",
    [snapshot, mark(2), set(["a", 1]), status("in-sync")],
    ["resync", "#2", "-b", "in-sync"],
  ],
  [
    "deletes before in-sync wait for it",
    [snapshot, set(["a", GONE], ["b", 5], ["b", GONE]), mark(2), status("resync"), set(["a", GONE])],
    ["resync", "~b=5", "#2"],
  ],
  [
    "deletes before in-sync come with it",
    [snapshot, set(["a", GONE], ["b", 5], ["b", GONE]), mark(2), status("in-sync")],
    ["resync", "-b", "#2", "-a", "in-sync"],
  ],
  [
    "a key that comes back before in-sync stays",
    [snapshot, set(["a", GONE], ["b", 2]), mark(2), set(["a", 1]), status("in-sync")],
    ["#2"],
  ],
  [
    "deletes after in-sync come at once",
    [snapshot, set(["a", 1], ["b", 2]), status("in-sync"), set(["a", GONE])],
    ["-a"],
  ],
  [
    "a second snapshot before in-sync",
    [snapshot, set(["a", 1]), snapshot, set(["b", 2]), status("in-sync")],
    ["resync", "-a", "in-sync"],
  ],
  [
    "a snapshot that broke off counts for nothing",
    [snapshot, set(["c", 3], ["a", 9]), snapshot, set(["a", 1], ["b", 2]), status("in-sync")],
    [],
  ],
  [
    "a second in-sync removes nothing more",
    [snapshot, set(["a", 1], ["b", 2]), status("in-sync"), status("in-sync")],
    [],
  ],
];

for (const [name, actions, wanted] of CASES)
  test(`DedupeBuffer: ${name}`, () => {
    const buffer = synced();
    for (const action of actions) action(buffer);
    const got = drain(buffer);
    // A resync that is over before it is seen is nothing.
    assert.deepEqual(got, wanted);
    assert.equal(buffer.size, 0);
    assert.equal(buffer.pendingKVs, 0);
  });

test("DedupeBuffer says resync before the first KV, and wait-for-ready only while there is nothing", () => {
  const buffer = new DedupeBuffer();
  buffer.startSnapshot();
  buffer.onStatus("wait-for-ready");
  assert.deepEqual(drain(buffer), []);
  buffer.onKVs([kv("a", 1)]);
  assert.deepEqual(drain(buffer), ["resync", "+a=1"]);
});

test("take() gives at most so many updates, and what is taken counts as handed over", () => {
  const buffer = synced();
  buffer.onKVs([kv("a", 5), kv("b", 6), kv("c", 7)]);
  assert.deepEqual(describe(buffer.take(2) as BufferedStep), ["~a=5", "~b=6"]);
  buffer.onKVs([kv("a", 1), kv("c", 8)]);
  assert.deepEqual(drain(buffer), ["+c=8", "~a=1"]);
});

test("a made up delete has no revision; the others have their KV's", () => {
  const buffer = synced();
  buffer.startSnapshot();
  buffer.onKVs([kv("a", 5, "r5")]);
  buffer.onStatus("in-sync");
  const updates = [];
  for (let step = buffer.take(9); step !== undefined; step = buffer.take(9))
    if (step.type === "updates") updates.push(...step.updates.map(({ path, revision }) => [path, revision]));
  assert.deepEqual(updates, [
    ["a", "r5"],
    ["b", ""],
  ]);
  assert.equal(buffer.madeUpDeletes, 1);
});

test("a blocked consumer makes the queue no longer than its KVs", () => {
  const buffer = synced();
  for (let i = 2; i < 10_000; i++) {
    buffer.onKVs([kv("c", i)]);
    buffer.onMark(i);
    if (i % 3 === 0) buffer.onStatus(i % 2 === 0 ? "resync" : "in-sync");
    buffer.onKVs([kv("c", undefined), kv(`d${i % 5}`, i)]);
    assert.ok(buffer.size <= 2 * buffer.pendingKVs + 1, `${buffer.size} for ${buffer.pendingKVs}`);
  }
});

/** One step of a random history. */
type Op =
  | { readonly op: "kvs"; readonly kvs: readonly (readonly [number, number])[] }
  | { readonly op: "status"; readonly status: SyncStatus }
  | { readonly op: "mark" }
  | { readonly op: "snapshot" }
  | { readonly op: "take"; readonly max: number };

const VALUES = 4;
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant("kvs" as const),
      kvs: fc.array(fc.tuple(fc.nat(6), fc.nat(VALUES - 1)), { maxLength: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant("status" as const),
      status: fc.constantFrom<SyncStatus>("wait-for-ready", "resync", "in-sync", "in-sync"),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ op: "mark" as const }) },
  { weight: 1, arbitrary: fc.constant({ op: "snapshot" as const }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("take" as const), max: fc.integer({ min: 1, max: 4 }) }) },
);

/** What the consumer must end with, worked out the simple way. */
class Oracle {
  /** After each step, the value of each key that the source wants. */
  readonly history: Map<string, number>[] = [new Map()];
  readonly markedAt = new Map<number, number>();
  #unseen: Set<string> | undefined;

  get wanted(): Map<string, number> {
    return this.history.at(-1) as Map<string, number>;
  }

  snapshot(): void {
    this.#unseen = new Set(this.wanted.keys());
  }

  kvs(kvs: readonly KV[]): void {
    for (const { path, value } of kvs) {
      const next = new Map(this.wanted);
      if (value !== undefined) {
        this.#unseen?.delete(path);
        next.set(path, value as number);
      } else if (this.#unseen === undefined) next.delete(path);
      else this.#unseen.add(path);
      this.history.push(next);
    }
  }

  inSync(): void {
    const next = new Map(this.wanted);
    for (const path of this.#unseen ?? []) next.delete(path);
    this.#unseen = undefined;
    this.history.push(next);
  }

  mark(mark: number): void {
    this.markedAt.set(mark, this.history.length - 1);
  }
}

test("DedupeBuffer: whatever comes, in whatever rhythm, the consumer ends with the newest and sees only changes", () => {
  fc.assert(
    fc.property(fc.array(op, { maxLength: 60 }), (ops) => {
      const buffer = new DedupeBuffer();
      const oracle = new Oracle();
      const consumer = new Map<string, number>();
      let consumerStatus: SyncStatus = "wait-for-ready";
      let lastMark = 0;
      let nextMark = 1;
      const take = (max: number): boolean => {
        const step = buffer.take(max);
        if (step === undefined) return false;
        if (step.type === "updates") {
          assert.ok(step.updates.length > 0 && step.updates.length <= max);
          assert.notEqual(consumerStatus, "wait-for-ready");
          for (const { path, value, type } of step.updates) {
            assert.notEqual(consumer.get(path), value, `${path} handed over without a change`);
            const had = consumer.has(path);
            assert.equal(type, value === undefined ? "deleted" : had ? "updated" : "new");
            if (value === undefined) consumer.delete(path);
            else consumer.set(path, value as number);
          }
          return true;
        }
        if (step.status !== undefined) {
          assert.notEqual(step.status, consumerStatus);
          consumerStatus = step.status;
        }
        if (step.mark === undefined) return true;
        assert.ok(step.mark > lastMark);
        lastMark = step.mark;
        // Each key stands where the source had it at the mark, or later.
        const since = oracle.history.slice(oracle.markedAt.get(step.mark) as number);
        for (let key = 0; key <= 6; key++)
          assert.ok(since.some((state) => state.get(`k${key}`) === consumer.get(`k${key}`)));
        return true;
      };
      for (const action of ops) {
        if (action.op === "kvs") {
          const kvs = action.kvs.map(([key, value]) => kv(`k${key}`, value === 0 ? undefined : value));
          buffer.onKVs(kvs);
          oracle.kvs(kvs);
        } else if (action.op === "status") {
          buffer.onStatus(action.status);
          if (action.status === "in-sync") oracle.inSync();
        } else if (action.op === "mark") {
          oracle.mark(nextMark);
          buffer.onMark(nextMark++);
        } else if (action.op === "snapshot") {
          buffer.startSnapshot();
          oracle.snapshot();
        } else take(action.max);
        assert.ok(buffer.size <= 2 * buffer.pendingKVs + 1);
      }
      while (take(3));
      assert.deepEqual(consumer, oracle.wanted);
      assert.equal(lastMark, nextMark - 1);
      assert.equal(buffer.size, 0);
    }),
    { numRuns: 2000 },
  );
});

/** The digests of a state, worked out from scratch. */
function digestsOf(state: ReadonlyMap<string, unknown>): string | undefined {
  if (state.size === 0) return undefined;
  const digests = new BucketDigests(bucketCountFor(state.size));
  for (const [path, value] of state) digests.add(path, hashValue(path, value));
  return digests.encode();
}

test("digests() are of the newest value of each key, handed over or not", () => {
  const path = fc.integer({ min: 0, max: 30 }).map((n) => `/calico/v1/config/k${n}`);
  const action = fc.oneof(
    fc.record({ type: fc.constant("set" as const), path, value: fc.integer({ min: 0, max: 2 }) }),
    fc.record({ type: fc.constant("remove" as const), path }),
    fc.record({ type: fc.constant("take" as const), count: fc.integer({ min: 1, max: 5 }) }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      const buffer = new DedupeBuffer();
      buffer.startSnapshot();
      buffer.onStatus("in-sync");
      const state = new Map<string, unknown>();
      for (const one of actions) {
        if (one.type === "take") buffer.take(one.count);
        else if (one.type === "set") {
          buffer.onKVs([kv(one.path, one.value)]);
          state.set(one.path, one.value);
        } else {
          buffer.onKVs([kv(one.path, undefined)]);
          state.delete(one.path);
        }
        assert.equal(buffer.digests(), digestsOf(state));
        assert.equal(buffer.heldKeys, state.size);
      }
    }),
  );
});

test("digests() have what a server not in sync has not shown, until it is in sync", () => {
  const buffer = synced();
  buffer.startSnapshot();
  buffer.onKVs([kv("b", 2), kv("a", undefined)]);
  assert.equal(buffer.digests(), digestsOf(new Map(Object.entries({ a: 1, b: 2 }))));
  buffer.onStatus("in-sync");
  assert.equal(buffer.digests(), digestsOf(new Map([["b", 2]])));
});

test("startSnapshot() of some buckets removes what these lack at in-sync, and nothing else", () => {
  const names = Array.from({ length: 40 }, (_, i) => `k${i}`);
  for (const buckets of [[], [0], [1, 3], [0, 1, 2, 3]]) {
    const buffer = new DedupeBuffer();
    buffer.startSnapshot();
    buffer.onKVs(names.map((name) => kv(name, 1)));
    buffer.onStatus("in-sync");
    drain(buffer);
    buffer.startSnapshot({ buckets, count: 4 });
    const isNamed = (name: string): boolean => buckets.includes(bucketOf(name, 4));
    const named = names.filter(isNamed);
    // All but the first of those that were named come again.
    buffer.onKVs(named.slice(1).map((name) => kv(name, 1)));
    const deletes = named.slice(0, 1).map((name) => `-${name}`);
    assert.deepEqual(drain(buffer), buckets.length === 0 ? [] : ["resync"]);
    buffer.onStatus("in-sync");
    assert.deepEqual(drain(buffer), buckets.length === 0 ? [] : [...deletes, "in-sync"]);
  }
});
