import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { AckSender } from "./ack-sender.ts";
import { AckTracker } from "./ack-tracker.ts";

test("AckTracker turns marks into the server's sequences", () => {
  const tracker = new AckTracker();
  tracker.startEpoch("a");
  const marks = [10, 12, 20].map((sequence) => tracker.mark(sequence));
  assert.equal(tracker.applied, undefined);
  assert.equal(tracker.ack(marks[1] as number), true);
  assert.equal(tracker.applied, 12);
  assert.equal(tracker.ack(marks[0] as number), false, "older marks tell nothing");
  assert.equal(tracker.ack((marks[2] as number) + 100), true, "a mark covers all before it");
  assert.equal(tracker.applied, 20);
});

test("AckTracker forgets the marks of another epoch", () => {
  const tracker = new AckTracker();
  tracker.startEpoch("a");
  const old = tracker.mark(10);
  tracker.startEpoch("b");
  assert.equal(tracker.ack(old), false);
  assert.equal(tracker.applied, undefined);
  const mark = tracker.mark(3);
  assert.ok(mark > old, "marks grow over epochs");
  assert.equal(tracker.ack(mark), true);
  assert.equal(tracker.applied, 3);
});

test("AckTracker keeps what is applied when the epoch goes on", () => {
  const tracker = new AckTracker();
  tracker.startEpoch("a");
  tracker.ack(tracker.mark(10));
  tracker.startEpoch("a");
  assert.equal(tracker.applied, 10);
});

test("AckTracker stays bounded when nobody acks, and a later ack covers what it forgot", () => {
  const tracker = new AckTracker();
  tracker.startEpoch("a");
  const first = tracker.mark(0);
  let last = first;
  for (let i = 1; i <= 100_000; i++) last = tracker.mark(i);
  assert.equal(tracker.ack(first), false);
  assert.equal(tracker.ack(last), true);
  assert.equal(tracker.applied, 100_000);
});

test("AckSender sends at once when idle, then at most once an interval, the newest", async () => {
  const clock = new ManualClock(1000);
  const tracker = new AckTracker();
  tracker.startEpoch("a");
  const sender = new AckSender(tracker, clock, 100);
  const sent: number[] = [];
  sender.ack(tracker.mark(1));
  assert.equal(sent.length, 0, "nobody to send to");
  sender.connect((sequence) => {
    sent.push(sequence);
  });
  for (const sequence of [2, 3, 4]) sender.ack(tracker.mark(sequence));
  assert.deepEqual(sent, [2]);
  await clock.advance(99);
  assert.deepEqual(sent, [2]);
  await clock.advance(1);
  assert.deepEqual(sent, [2, 4]);
  sender.ack(tracker.mark(5));
  sender.disconnect();
  await clock.advance(1000);
  assert.deepEqual(sent, [2, 4]);
  assert.equal(clock.pending, 0);
});
