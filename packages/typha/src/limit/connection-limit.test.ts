import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { connectionLimit, type LimitBasis, type LimitReason } from "./connection-limit.ts";

const FOUR: LimitBasis = { type: "formula", syncerTypes: 4 };
const THREE: LimitBasis = { type: "formula", syncerTypes: 3 };
const DEFAULTS = { basis: FOUR, lower: 400, upper: 10_000 };
const NARROW = { basis: THREE, lower: 11, upper: 101 };

const rows: readonly [
  typhas: number | undefined,
  nodes: number | undefined,
  settings: { readonly basis: LimitBasis; readonly lower: number; readonly upper: number },
  limit: number,
  reason: LimitReason,
][] = [
  [2, 50, DEFAULTS, 400, "configured lower limit"],
  [3, 100, DEFAULTS, 400, "configured lower limit"],
  [3, 200, DEFAULTS, 484, "fraction+20%"],
  [7, 1000, DEFAULTS, 804, "fraction+20%"],
  [20, 3600, DEFAULTS, 912, "fraction+20%"],
  [0, 3600, DEFAULTS, 10_000, "lone typha"],
  [1, 3600, DEFAULTS, 10_000, "lone typha"],
  // 83.3 nodes a server beside this one pass the lower limit: floor(1.2 * 83) = 99, floor(1.2 * 84) = 100.
  [2, 83, DEFAULTS, 400, "configured lower limit"],
  [2, 84, DEFAULTS, 404, "fraction+20%"],
  [2, 0, DEFAULTS, 400, "configured lower limit"],
  [2, 5000, DEFAULTS, 10_000, "configured upper limit"],
  [undefined, 100, DEFAULTS, 10_000, "error"],
  [5, undefined, DEFAULTS, 10_000, "error"],
  [1, undefined, DEFAULTS, 10_000, "error"],
  [1, 10, NARROW, 101, "lone typha"],
  [10, 10, NARROW, 11, "configured lower limit"],
  [10, 500, NARROW, 101, "configured upper limit"],
  [2, 500, NARROW, 101, "configured upper limit"],
  [5, 100, NARROW, 93, "fraction+20%"],
  [5, 200, NARROW, 101, "configured upper limit"],
  [undefined, undefined, NARROW, 101, "error"],
  [3, 100, { ...NARROW, lower: 200 }, 101, "configured upper limit"],
  // 2,000 nodes on 20 servers with fewer streams than there are: below the mean of 400.
  [20, 2000, { ...DEFAULTS, basis: THREE, lower: 1 }, 381, "fraction+20%"],
  // Observed: 8,000 streams make 4 + floor(1.2 * 8000 / 19), 2.5 a node make 3 + floor(1.2 * 500 / 2).
  [20, 2000, { ...DEFAULTS, basis: { type: "observed", connections: 8000 } }, 509, "fraction+20%"],
  [3, 200, { ...DEFAULTS, lower: 1, basis: { type: "observed", connections: 500 } }, 303, "fraction+20%"],
  [3, 200, { ...DEFAULTS, basis: { type: "observed", connections: 500 } }, 400, "configured lower limit"],
  [3, 200, { ...DEFAULTS, basis: { type: "observed", connections: undefined } }, 10_000, "error"],
  [3, 0, { ...DEFAULTS, lower: 1, basis: { type: "observed", connections: 0 } }, 1, "configured lower limit"],
];
for (const [typhas, nodes, settings, limit, reason] of rows) {
  const shown = `${typhas ?? "?"} servers, ${nodes ?? "?"} nodes, ${JSON.stringify(settings)}`;
  test(`connectionLimit() is ${limit}, ${reason}, for ${shown}`, () => {
    assert.deepEqual(connectionLimit({ typhas, nodes, ...settings }), { limit, reason });
  });
}

test("connectionLimit() gives each server more than its share, whatever the numbers, unless the upper limit is below it", () => {
  const count = fc.integer({ min: 0, max: 100_000 });
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 200 }),
      count,
      fc.integer({ min: 1, max: 4 }),
      (typhas, nodes, syncerTypes) => {
        const connections = nodes * syncerTypes;
        for (const basis of [{ type: "formula", syncerTypes } as const, { type: "observed", connections } as const]) {
          const { limit } = connectionLimit({ typhas, nodes, basis, lower: 1, upper: Number.MAX_SAFE_INTEGER });
          assert.ok(Number.isSafeInteger(limit));
          assert.ok(limit >= connections / typhas, `${limit} for ${connections} on ${typhas}`);
        }
      },
    ),
  );
});
