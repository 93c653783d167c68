import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import {
  type DatastoreDriver,
  DatastoreError,
  type DatastoreErrorCode,
  type ListPage,
  type WatchEvent,
} from "@bulrush/datastore";
import { ReachedRevision } from "./reached-revision.ts";

/** A driver that lists at one revision (or fails with a code), and then tells these events and ends. */
function driverOf(type: DatastoreDriver["type"], listed: string, events: readonly WatchEvent[] = []): DatastoreDriver {
  let told = 0;
  return {
    type,
    async *list(): AsyncIterable<ListPage> {
      await Promise.resolve();
      if (listed.startsWith("DATASTORE")) throw new DatastoreError("No", { code: listed as DatastoreErrorCode });
      yield { items: [], revision: listed };
    },
    watch: () =>
      Promise.resolve({
        next: () => Promise.resolve(told < events.length ? [events[told++] as WatchEvent] : undefined),
        close() {},
      }),
    probe: () => Promise.resolve(),
    problems: () => [],
    close: () => Promise.resolve(),
  };
}

const signal = new AbortController().signal;
const REQUEST = { kind: "Tier", revision: "", signal } as const;

async function list(driver: DatastoreDriver): Promise<void> {
  for await (const _ of driver.list(REQUEST));
}

const key = { kind: "Tier", namespace: "", name: "a" } as const;
const NAMED: readonly (readonly [string, string, readonly WatchEvent[], number])[] = [
  ["a list", "17", [], 17],
  ["a bookmark", "17", [{ type: "bookmark", revision: "30" }], 30],
  ["a delete", "17", [{ type: "deleted", item: key, revision: "21" }], 21],
  ["a change", "17", [{ type: "modified", item: { ...key, revision: "22", value: undefined } }], 22],
  ["a list of an etcd, which names its cluster", "17@cdf818194e3a8c32", [], 17],
  ["a delete in an etcd", "17@cdf818194e3a8c32", [{ type: "deleted", item: key, revision: "21@cdf818194e3a8c32" }], 21],
  ["a list of several parts", "12/40", [], 12],
  ["a list without order", "abc", [], 0],
];
for (const [name, listed, events, wanted] of NAMED)
  test(`ReachedRevision counts ${name}, a second after it was read`, async () => {
    const clock = new ManualClock(0);
    const reached = new ReachedRevision(clock);
    const driver = reached.observe(driverOf("kubernetes", listed, events));
    await list(driver);
    const stream = await driver.watch(REQUEST);
    for (const _ of events) await stream.next();
    assert.deepEqual(reached.state(), { revision: 0, isWhole: false }, "nobody knows yet whether it was taken in");
    await clock.advance(1100);
    assert.deepEqual(reached.state(), { revision: wanted, isWhole: true });
  });

test("ReachedRevision is not whole from the end of a watch until a second after the next list or watch", async () => {
  const clock = new ManualClock(0);
  const reached = new ReachedRevision(clock);
  const driver = reached.observe(driverOf("etcdv3", "17"));
  const isWhole = (): boolean => reached.state()?.isWhole === true;
  await list(driver);
  await (await driver.watch(REQUEST)).next();
  await clock.advance(5000);
  assert.equal(isWhole(), false);
  await driver.watch(REQUEST);
  assert.equal(isWhole(), false);
  await clock.advance(1000);
  assert.equal(isWhole(), true);
});

/** A watch that does what it is told. */
function watchOf(steps: readonly (WatchEvent | Error)[]): DatastoreDriver {
  const left = [...steps];
  return {
    ...driverOf("etcdv3", "100"),
    watch: () =>
      Promise.resolve({
        next: () => {
          const step = left.shift();
          return step instanceof Error ? Promise.reject(step) : Promise.resolve(step && [step]);
        },
        close() {},
      }),
  };
}

const bookmark = (revision: string): WatchEvent => ({ type: "bookmark", revision });
const LOST: readonly (readonly [string, WatchEvent | Error])[] = [
  ["an error that it tells", { type: "error", error: new DatastoreError("Lost", { code: "DATASTORE_FAILED" }) }],
  ["an error that it throws", new Error("Lost")],
];

for (const [name, lost] of LOST)
  test(`ReachedRevision does not take a watch that goes on after ${name} for one that has caught up`, async () => {
    const clock = new ManualClock(0);
    const reached = new ReachedRevision(clock);
    const driver = reached.observe(watchOf([lost, bookmark("110"), bookmark("130")]));
    const other = reached.observe(driverOf("etcdv3", "130"));
    const isWhole = (): boolean => reached.state()?.isWhole === true;
    await list(driver);
    await (await driver.watch(REQUEST)).next().catch(() => {});
    await clock.advance(5000);
    assert.equal(isWhole(), false, "it is not followed");
    const stream = await driver.watch(REQUEST);
    for await (const _ of other.list({ ...REQUEST, kind: "Node" }));
    await clock.advance(5000);
    assert.deepEqual(reached.state(), { revision: 130, isWhole: false }, "another kind is past it");
    await stream.next();
    assert.equal(isWhole(), false, "it is still on its way");
    await stream.next();
    assert.equal(isWhole(), false, "what it has told may not be in the cache yet");
    await clock.advance(1000);
    assert.equal(isWhole(), true);
  });

test("ReachedRevision takes a watch that says nothing for ten seconds, or a list, for one that has caught up", async () => {
  for (const lists of [false, true]) {
    const clock = new ManualClock(0);
    const reached = new ReachedRevision(clock);
    const driver = reached.observe(watchOf([new Error("Lost")]));
    const isWhole = (): boolean => reached.state()?.isWhole === true;
    await list(driver);
    await (await driver.watch(REQUEST)).next().catch(() => {});
    await driver.watch(REQUEST);
    if (lists) await list(driver);
    await clock.advance(9999);
    assert.equal(isWhole(), lists);
    await clock.advance(1);
    assert.equal(isWhole(), lists, "and then a second more");
    await clock.advance(999);
    assert.equal(isWhole(), lists);
    await clock.advance(1);
    assert.equal(isWhole(), true);
  }
});

test("ReachedRevision is whole without a kind that the server does not have, and not without one that fails", async () => {
  for (const [code, wanted] of [
    ["DATASTORE_NOT_FOUND", true],
    ["DATASTORE_FAILED", false],
  ] as const) {
    const clock = new ManualClock(0);
    const reached = new ReachedRevision(clock);
    await assert.rejects(list(reached.observe(driverOf("kubernetes", code))));
    await clock.advance(5000);
    assert.equal(reached.state()?.isWhole, wanted, code);
  }
});

test("ReachedRevision says nothing of a directory, whose revisions are each server's own", async () => {
  const reached = new ReachedRevision(new ManualClock(0));
  await list(reached.observe(driverOf("file", "17")));
  assert.equal(reached.state(), undefined);
});
