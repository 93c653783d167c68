import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { FanOut } from "./fan-out.ts";

interface Rig {
  readonly fanOut: FanOut;
  /** How often each target was pumped. */
  readonly pumped: number[];
  readonly rounds: number[];
  /** Runs what was deferred, once. */
  readonly turn: () => void;
}

function rig(targets: number): Rig {
  const clock = new ManualClock();
  const deferred: (() => void)[] = [];
  const pumped = Array.from({ length: targets }, () => 0);
  const rounds: number[] = [];
  const fanOut = new FanOut(
    clock,
    (callback) => deferred.push(callback),
    () => pumped.map((_, i) => ({ pump: () => void (pumped[i] = (pumped[i] ?? 0) + 1) })),
    (durationMs) => rounds.push(durationMs),
  );
  const turn = (): void => {
    for (const callback of deferred.splice(0)) callback();
  };
  return { fanOut, pumped, rounds, turn };
}

test("FanOut.onPublish() tells few targets at once, in the same turn", () => {
  const { fanOut, pumped, rounds } = rig(100);
  fanOut.onPublish();
  assert.deepEqual(new Set(pumped), new Set([1]));
  assert.deepEqual(rounds, [0]);
});

test("FanOut.onPublish() gives everybody else a turn between slices of many targets", () => {
  const { fanOut, pumped, rounds, turn } = rig(300);
  fanOut.onPublish();
  assert.equal(pumped.filter((count) => count === 1).length, 128);
  turn();
  assert.equal(pumped.filter((count) => count === 1).length, 256);
  assert.deepEqual(rounds, []);
  turn();
  assert.deepEqual(new Set(pumped), new Set([1]));
  assert.equal(rounds.length, 1);
});

test("FanOut.onPublish() during a round makes one more round, however often it comes", () => {
  const { fanOut, pumped, rounds, turn } = rig(200);
  fanOut.onPublish();
  fanOut.onPublish();
  fanOut.onPublish();
  for (let i = 0; i < 10; i++) turn();
  assert.deepEqual(new Set(pumped), new Set([2]));
  assert.equal(rounds.length, 2);
});
