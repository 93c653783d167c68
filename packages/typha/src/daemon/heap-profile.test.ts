import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { memoryLogger, type SignalSource } from "@bulrush/service";
import { writeHeapProfileOnSignal } from "./heap-profile.ts";

interface Scene {
  readonly signals: EventEmitter;
  readonly written: string[];
  readonly logger: ReturnType<typeof memoryLogger>;
  readonly stop: () => void;
}

function scene(path: string, fail?: Error): Scene {
  const signals = new EventEmitter();
  const written: string[] = [];
  const logger = memoryLogger();
  const stop = writeHeapProfileOnSignal({
    path,
    clock: new ManualClock(new Date(2026, 10, 3, 4, 5, 6).getTime()),
    logger,
    signals: signals as unknown as SignalSource,
    write: (file) => {
      if (fail !== undefined) throw fail;
      written.push(file);
    },
  });
  return { signals, written, logger, stop };
}

test("writeHeapProfileOnSignal() writes at each SIGUSR1, with the local time in the name", () => {
  const { signals, written, stop } = scene("/tmp/a-<timestamp>-<timestamp>.heap");
  signals.emit("SIGUSR1");
  signals.emit("SIGUSR1");
  const name = "/tmp/a-2026-11-03-04:05:06-2026-11-03-04:05:06.heap";
  assert.deepEqual(written, [name, name]);
  stop();
  assert.equal(signals.listenerCount("SIGUSR1"), 0);
});

test("writeHeapProfileOnSignal() takes the signal without a path and says what is missing", () => {
  const { signals, written, logger } = scene("");
  signals.emit("SIGUSR1");
  assert.deepEqual(written, []);
  assert.match(logger.records[0]?.message ?? "", /DebugMemoryProfilePath/);
});

test("writeHeapProfileOnSignal() logs what cannot be written and goes on", () => {
  const { signals, logger } = scene("/no/such/directory/heap", new Error("ENOENT"));
  signals.emit("SIGUSR1");
  signals.emit("SIGUSR1");
  assert.deepEqual(
    logger.records.map(({ message }) => message),
    ["Cannot write a heap profile", "Cannot write a heap profile"],
  );
});
