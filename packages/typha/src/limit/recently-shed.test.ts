import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentlyShed } from "./recently-shed.ts";

const MINUTE = 60_000;

test("RecentlyShed remembers for ten minutes", () => {
  const recent = new RecentlyShed();
  recent.add("a", 0);
  recent.add("b", MINUTE);
  assert.deepEqual([recent.has("a", 10 * MINUTE), recent.has("a", 10 * MINUTE + 1)], [true, false]);
  assert.deepEqual([recent.has("b", 11 * MINUTE), recent.has("c", 0)], [true, false]);
});

test("RecentlyShed counts those that came back since they were handed over", () => {
  const recent = new RecentlyShed();
  recent.add("back", 1000);
  recent.add("leaving", 1000);
  recent.add("long ago", 1000);
  const streams = [
    { clientId: "back", connectedAtMs: 2000 },
    // Told to go, and not gone yet.
    { clientId: "leaving", connectedAtMs: 500 },
    { clientId: "never", connectedAtMs: 3000 },
  ];
  assert.equal(recent.cameBack(streams, 4000), 1);
  assert.equal(recent.cameBack([{ clientId: "long ago", connectedAtMs: 2000 }], 11 * MINUTE), 0);
});
