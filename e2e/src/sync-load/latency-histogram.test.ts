import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LatencyHistogram } from "./latency-histogram.ts";

const times: fc.Arbitrary<number[]> = fc.array(fc.double({ min: 0.2, max: 100_000, noNaN: true }), {
  minLength: 1,
  maxLength: 300,
});

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

/** The least value that this share of them does not exceed. */
function exact(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;
}

test("a percentile is the exact one, or at most 2 % and a rounding above it", () => {
  fc.assert(
    fc.property(times, (values) => {
      const { count, p50, p90, p99, max } = histogramOf(values).percentiles();
      assert.equal(count, values.length);
      for (const [found, share] of [
        [p50, 0.5],
        [p90, 0.9],
        [p99, 0.99],
        [max, 1],
      ] as const) {
        const wanted = exact(values, share);
        assert.ok(
          found !== null && found >= wanted - 0.051 && found <= wanted * 1.02 + 0.051,
          `${found} for ${wanted}`,
        );
      }
    }),
  );
});

test("histograms of several processes add up to the one of all values", () => {
  fc.assert(
    fc.property(times, times, (a, b) => {
      const sum = histogramOf(a);
      sum.add(structuredClone(histogramOf(b).data()));
      assert.deepEqual(sum.percentiles(), histogramOf([...a, ...b]).percentiles());
    }),
  );
});

test("nothing measured is no number, and a clock that is ahead is no negative time", () => {
  const none = { count: 0, p50: null, p90: null, p99: null, max: null };
  assert.deepEqual(new LatencyHistogram().percentiles(), none);
  assert.deepEqual(histogramOf([-5]).percentiles(), { count: 1, p50: 0, p90: 0, p99: 0, max: 0 });
});
