import assert from "node:assert/strict";
import { test } from "node:test";
import type { Welcome } from "@bulrush/proto";
import { Freshness } from "./freshness.ts";
import { deltaOf, welcome } from "./testing/fixture.ts";

function ping(sentAtMs: number, upstreamAgeMs: number, staleSinceMs?: number): Parameters<Freshness["onPing"]>[0] {
  return { type: "ping", sentAtMs, upstreamAgeMs, sequence: 1, ...(staleSinceMs !== undefined && { staleSinceMs }) };
}

const rows: readonly [title: string, welcome: Partial<Welcome>, withoutServer: boolean, withServer: boolean][] = [
  ["a fresh one", {}, true, true],
  ["a stale one that knows less", { staleSinceMs: 8999 }, false, false],
  ["a stale one that knows as much", { staleSinceMs: 9000 }, true, false],
  ["a stale one that knows more", { staleSinceMs: 9001 }, true, true],
  ["the same one, that goes on", { staleSinceMs: 1, resume: "deltas" }, true, true],
];
for (const [title, more, withoutServer, withServer] of rows) {
  test(`Freshness follows ${title}: ${withoutServer} without a server, ${withServer} with one`, () => {
    const freshness = new Freshness();
    freshness.onPing(ping(10_000, 1000));
    freshness.onPing(ping(10_500, 5000));
    assert.equal(freshness.mayFollow(welcome(more), false), withoutServer);
    assert.equal(freshness.mayFollow(welcome(more), true), withServer);
  });
}

test("Freshness knows at least what the newest change says, and follows anybody while it knows nothing", () => {
  const freshness = new Freshness();
  assert.equal(freshness.mayFollow(welcome({ staleSinceMs: 1 }), false), true);
  const delta = deltaOf(1, 2);
  if (delta.type === "delta") freshness.onDelta({ ...delta, seenAtMs: 7000 });
  assert.equal(freshness.mayFollow(welcome({ staleSinceMs: 6999 }), false), false);
  assert.equal(freshness.mayFollow(welcome({ staleSinceMs: 7000 }), false), true);
});

test("Freshness says since when the present server is stale", () => {
  const freshness = new Freshness();
  freshness.onPing(ping(10_000, 5000, 5000));
  assert.equal(freshness.staleSinceMs, 5000);
  freshness.onWelcome(welcome());
  assert.equal(freshness.staleSinceMs, undefined);
});
