import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { memoryLogger, type MemoryLogger } from "../log/memory-logger.ts";
import { createShutdown, type Shutdown } from "./shutdown.ts";

function make(): { shutdown: Shutdown; signals: EventEmitter; clock: ManualClock; logger: MemoryLogger } {
  const signals = new EventEmitter();
  const clock = new ManualClock();
  const logger = memoryLogger();
  return { shutdown: createShutdown({ logger, clock, timeoutMs: 5000, signals }), signals, clock, logger };
}

test("SIGTERM runs the steps one by one, the last registered first, and ends with 0", async () => {
  const { shutdown, signals } = make();
  const order: string[] = [];
  shutdown.onStop("first", () => void order.push("first"));
  shutdown.onStop("second", async () => {
    order.push("second starts");
    await new Promise((resolve) => setImmediate(resolve));
    order.push("second ends");
  });
  signals.emit("SIGTERM");
  assert.equal(shutdown.signal.aborted, true);
  assert.equal(await shutdown.done, 0);
  assert.deepEqual(order, ["second starts", "second ends", "first"]);
  assert.deepEqual([signals.listenerCount("SIGTERM"), signals.listenerCount("SIGINT")], [0, 0]);
});

test("request() ends with its exit code, and later ones change nothing", async () => {
  const { shutdown, signals } = make();
  shutdown.request({ reason: "config changed", exitCode: 129 });
  shutdown.request({ reason: "other", exitCode: 1 });
  signals.emit("SIGTERM");
  assert.equal(await shutdown.done, 129);
});

test("a step that fails is logged and the next one runs", async () => {
  const { shutdown, logger } = make();
  let ran = false;
  shutdown.onStop("good", () => {
    ran = true;
  });
  shutdown.onStop("bad", () => Promise.reject(new Error("no")));
  shutdown.request({ reason: "test", exitCode: 3 });
  assert.equal(await shutdown.done, 3);
  assert.equal(ran, true);
  assert.deepEqual(logger.records.find((record) => record.level === "error")?.fields["part"], "bad");
});

test("the time-out skips what hangs", async () => {
  const { shutdown, clock } = make();
  shutdown.onStop("hangs", () => new Promise(() => {}));
  shutdown.request({ reason: "test", exitCode: 0 });
  await clock.advance(5000);
  assert.equal(await shutdown.done, 0);
});

test("a second SIGINT skips what hangs, a second SIGTERM does not", async () => {
  const { shutdown, signals, clock } = make();
  shutdown.onStop("hangs", () => new Promise(() => {}));
  let ended = false;
  void shutdown.done.then(() => {
    ended = true;
  });
  signals.emit("SIGTERM");
  signals.emit("SIGTERM");
  signals.emit("SIGINT");
  await clock.advance(1);
  assert.equal(ended, false);
  signals.emit("SIGINT");
  await clock.advance(1);
  assert.equal(ended, true);
});
