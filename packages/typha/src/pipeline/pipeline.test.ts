import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { SyncerCallbacks } from "@bulrush/model";
import { createMetrics, silentLogger } from "@bulrush/service";
import { settingUpdate } from "../testing/updates.ts";
import { createPipelineMetrics } from "./pipeline-metrics.ts";
import { Pipeline } from "./pipeline.ts";

test("Pipeline has in its cache what it was told before it says how far it has read", async () => {
  const clock = new ManualClock(1_000_000);
  const pipeline = new Pipeline({
    type: "felix",
    clock,
    logger: silentLogger,
    metrics: createPipelineMetrics(createMetrics()).cache("felix"),
    epoch: "e",
    yieldTurn: () => Promise.resolve(),
    clients: () => 0,
    maxBatch: 100,
    retainBytes: 1 << 20,
    forThreads: false,
  });
  const sources: SyncerCallbacks[] = [];
  pipeline.start((_, callbacks) => {
    sources.push(callbacks);
    return {
      type: "felix",
      start() {},
      stop: () => Promise.resolve(),
      report: () => [],
      upstreamAgeMs: () => 0,
      problems: () => [],
    };
  });
  const [source] = sources;
  assert.ok(source !== undefined);
  // Fan-outs that take longer than changes are apart: changes are gathered for some milliseconds.
  for (let i = 0; i < 20; i++) {
    await source.onUpdates([settingUpdate(`/calico/v1/config/a=${i}@${i + 1}`)]);
    pipeline.stream.onFanOut?.(100);
    await clock.advance(1);
  }
  await clock.advance(1000);
  assert.equal(pipeline.cache.size, 1);
  // The window begins with what is published at once.
  await source.onUpdates([settingUpdate("/calico/v1/config/a=99@49")]);
  await source.onUpdates([settingUpdate("/calico/v1/config/b=1@50")]);
  assert.equal(pipeline.cache.size, 1, "it waits for the end of the window");
  pipeline.stream.reached?.();
  assert.equal(pipeline.cache.size, 2);
  await pipeline.stop();
});
