import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { collectAfterStart } from "./collect-after-start.ts";

test("the heap is collected once after a start, five seconds after the last of source and kernel has all", async () => {
  const clock = new ManualClock();
  let collections = 0;
  const listener = collectAfterStart(clock, () => {
    collections++;
    return Promise.resolve();
  });
  await clock.advance(60_000);
  assert.equal(collections, 0);
  listener.onInSync?.();
  await clock.advance(4_000);
  listener.onDataplane?.({ msg: "DataplaneInSync" });
  await clock.advance(4_999);
  assert.equal(collections, 0);
  await clock.advance(1);
  assert.equal(collections, 1);
  await clock.advance(600_000);
  assert.equal(collections, 1);
  // A new dataplane: the settings have changed.
  listener.onDataplane?.({ msg: "DataplaneInSync" });
  await clock.advance(5_000);
  assert.equal(collections, 2);
});
