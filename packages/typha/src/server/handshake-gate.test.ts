import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { type GatePass, HandshakeGate } from "./handshake-gate.ts";

/** Enters so many, and notes in which order they start. */
function crowd(gate: HandshakeGate, count: number): { passes: (GatePass | undefined)[]; started: number[] } {
  const started: number[] = [];
  const passes = Array.from({ length: count }, (_, i) => gate.enter(() => started.push(i)));
  return { passes, started };
}

test("HandshakeGate starts 64 at once, and the next in order as they are done", () => {
  const { passes, started } = crowd(new HandshakeGate(new ManualClock(0)), 67);
  assert.equal(started.length, 64);
  passes[65]?.done();
  passes[0]?.done();
  passes[0]?.done();
  assert.deepEqual(started.slice(64), [64]);
  passes[1]?.done();
  assert.deepEqual(started.slice(64), [64, 66], "who left while it waited is skipped");
});

test("HandshakeGate gives the place of a peer that takes 100 ms to the next", async () => {
  const clock = new ManualClock(0);
  const gate = new HandshakeGate(clock);
  const { passes, started } = crowd(gate, 130);
  await clock.advance(99);
  assert.equal(started.length, 64);
  await clock.advance(1);
  assert.equal(started.length, 128);
  // A slow one that ends frees no second place.
  passes[0]?.done();
  assert.equal(started.length, 128);
  assert.equal(gate.total, 129);
});

test("HandshakeGate takes 4,096 and no more until one is done", () => {
  const gate = new HandshakeGate(new ManualClock(0));
  const { passes } = crowd(gate, 4097);
  assert.ok(passes[4095] !== undefined);
  assert.equal(passes[4096], undefined);
  passes[4000]?.done();
  assert.ok(gate.enter(() => {}) !== undefined);
});
