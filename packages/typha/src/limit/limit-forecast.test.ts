import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { connectionLimit } from "./connection-limit.ts";
import { forecastLimit, type LimitWarningCode } from "./limit-forecast.ts";

const DEFAULTS = { basis: { type: "formula", syncerTypes: 4 }, lower: 400, upper: 10_000 } as const;

test("forecastLimit() gives mean and ratio of the published table", () => {
  const table: readonly [typhas: number, nodes: number, mean: number, ratio: number][] = [
    [2, 50, 100, 4],
    [3, 100, 133, 3],
    [3, 200, 267, 1.81],
    [7, 1000, 571, 1.41],
    [20, 3600, 720, 1.27],
  ];
  for (const [typhas, nodes, mean, ratio] of table) {
    const forecast = forecastLimit({ typhas, nodes, ...DEFAULTS });
    assert.equal(Math.round(forecast.mean ?? 0), mean);
    assert.ok(Math.abs((forecast.ratio ?? 0) - ratio) < 0.006, `${forecast.ratio} is not ${ratio}`);
  }
});

const rows: readonly [
  title: string,
  inputs: Omit<Parameters<typeof forecastLimit>[0], "basis" | "lower" | "upper"> &
    Partial<Parameters<typeof forecastLimit>[0]>,
  codes: readonly LimitWarningCode[],
][] = [
  ["two servers never balance", { typhas: 2, nodes: 1000 }, ["never-balances"]],
  ["below a hundred nodes the lower limit is above everything", { typhas: 3, nodes: 100 }, ["never-balances"]],
  ["a fleet of a good size", { typhas: 7, nodes: 1000 }, []],
  ["a lone server", { typhas: 1, nodes: 1000 }, []],
  ["no server", { typhas: 0, nodes: 0 }, ["no-nodes"]],
  ["no nodes", { typhas: 3, nodes: 0 }, ["no-nodes"]],
  [
    "more streams than were counted with",
    { typhas: 20, nodes: 2000, basis: { type: "formula", syncerTypes: 3 }, lower: 1, connections: 8000 },
    ["drops-healthy"],
  ],
  ["an upper limit below the mean", { typhas: 3, nodes: 1000, upper: 1000 }, ["rejects"]],
  [
    "an upper limit that is enough for all servers only",
    { typhas: 3, nodes: 1000, upper: 1500 },
    ["drops-healthy-without-one"],
  ],
  ["limits the wrong way round", { typhas: 7, nodes: 1000, lower: 900, upper: 800 }, ["lower-above-upper"]],
  ["few real connections", { typhas: 7, nodes: 1000, connections: 800 }, ["never-balances"]],
];
for (const [title, inputs, codes] of rows) {
  test(`forecastLimit() warns: ${title}`, () => {
    assert.deepEqual(
      forecastLimit({ ...DEFAULTS, ...inputs }).warnings.map(({ code }) => code),
      codes,
    );
  });
}

test("forecastLimit() has the limit of connectionLimit()", () => {
  const small = fc.integer({ min: 1, max: 10_000 });
  const inputs = fc.record({
    typhas: fc.nat(50),
    nodes: fc.nat(20_000),
    syncerTypes: fc.nat(8),
    lower: small,
    upper: small,
  });
  fc.assert(
    fc.property(inputs, ({ syncerTypes, ...rest }) => {
      const all = { ...rest, basis: { type: "formula", syncerTypes } as const };
      const { limit, reason } = forecastLimit(all);
      assert.deepEqual({ limit, reason }, connectionLimit(all));
    }),
  );
});
