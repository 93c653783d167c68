import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { RecentCache } from "./recent-cache.ts";

describe("RecentCache", () => {
  it("get() gives what was set last, undefined for what never was", () => {
    const cache = new RecentCache<number>(10);
    cache.set("a", 1);
    cache.set("a", 2);
    assert.equal(cache.get("a"), 2);
    assert.equal(cache.get("b"), undefined);
  });

  it("get() keeps an entry through the change of generation, others are forgotten at the second one", () => {
    const cache = new RecentCache<number>(2);
    for (const [i, key] of ["a", "b", "c"].entries()) cache.set(key, i);
    assert.equal(cache.get("a"), 0);
    // "c" and "a" were the young generation; "b" went with the old one.
    assert.equal(cache.get("b"), undefined);
    assert.equal(cache.get("a"), 0);
    assert.equal(cache.get("c"), 2);
  });

  it("never holds more than two generations, nor a value that is not the last one set", () => {
    const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 12 }), fc.integer()), { maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 5 }), (list, generationSize) => {
        const cache = new RecentCache<number>(generationSize);
        const model = new Map<string, number>();
        for (const [isSet, n, value] of list) {
          const key = String(n);
          if (isSet) {
            cache.set(key, value);
            model.set(key, value);
          } else {
            const found = cache.get(key);
            assert.ok(found === undefined || found === model.get(key));
          }
          assert.ok(cache.size <= 2 * generationSize);
        }
      }),
    );
  });
});
