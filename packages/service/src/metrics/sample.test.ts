import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "./prometheus.ts";
import { lastingSample, mergeSamples } from "./sample.ts";
import type { Metrics } from "./metrics.ts";

/** One metric of each kind. */
function registry(counted: number, gauged: number, seconds: readonly number[]): Metrics {
  const metrics = createMetrics();
  metrics.counter({ name: "c_total", help: "Counts" }).inc(counted);
  metrics
    .gaugeFamily({ name: "g", help: "Goes", labels: ["of"] })
    .with({ of: "a" })
    .set(gauged);
  const summary = metrics.summary({ name: "s_seconds", help: "Times", quantiles: [0.5] });
  const histogram = metrics.histogram({ name: "h_seconds", help: "Times", buckets: [1, 3] });
  for (const value of seconds) {
    summary.observe(value);
    histogram.observe(value);
  }
  return metrics;
}

const lines = (page: string): string[] => page.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("Metrics.text() shows the sums of the samples of other threads, and the highest of quantiles", async () => {
  const main = registry(1, 2, []);
  const [a, b] = [await registry(10, 5, [2]).sample(), await registry(20, 7, [8]).sample()];
  main.addSamples(() => [structuredClone(a), structuredClone(b)]);
  const page = await main.text();
  assert.match(page, /# HELP c_total Counts\n# TYPE c_total counter\n/);
  assert.deepEqual(lines(page), [
    "c_total 31",
    'g{of="a"} 14',
    's_seconds{quantile="0.5"} 8',
    "s_seconds_sum 10",
    "s_seconds_count 2",
    'h_seconds_bucket{le="1"} 0',
    'h_seconds_bucket{le="3"} 1',
    'h_seconds_bucket{le="+Inf"} 2',
    "h_seconds_sum 10",
    "h_seconds_count 2",
  ]);
});

test("Metrics.text() shows what only other threads have", async () => {
  const main = createMetrics();
  const other = createMetrics();
  other
    .gaugeFamily({ name: "g", help: "Goes", labels: ["of"] })
    .with({ of: 'a"b' })
    .set(3);
  const sample = await other.sample();
  main.addSamples(() => [sample]);
  assert.deepEqual(lines(await main.text()), ['g{of="a\\"b"} 3']);
});

test("lastingSample() keeps what only grows", async () => {
  const lasting = lastingSample(await registry(10, 5, [2]).sample());
  assert.deepEqual(
    mergeSamples([lasting, lasting])
      .flatMap(({ name, values }) => values.map((value) => `${value.name ?? name} ${value.value}`))
      .toSorted((a, b) => (a < b ? -1 : 1)),
    [
      "c_total 20",
      "h_seconds_bucket 0",
      "h_seconds_bucket 2",
      "h_seconds_bucket 2",
      "h_seconds_count 2",
      "h_seconds_sum 4",
      "s_seconds_count 2",
      "s_seconds_sum 4",
    ],
  );
});
