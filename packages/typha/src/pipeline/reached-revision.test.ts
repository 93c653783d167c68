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
