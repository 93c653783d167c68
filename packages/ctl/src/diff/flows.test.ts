import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EndClass } from "./ends.ts";
import { countFlows, flowsOf } from "./flows.ts";
import type { Traffic } from "./traffic.ts";

const OTHER = { name: "other", end: { address: "10.0.0.2" } };

const endClass: fc.Arbitrary<EndClass> = fc
  .record({
    families: fc.subarray([4, 6] as const),
    touched: fc.subarray(["ingress", "egress"] as const),
    hasOther: fc.boolean(),
  })
  .map(({ families, touched, hasOther }) => ({
    name: "one",
    end: { address: "10.0.0.1" },
    ...(hasOther && { other: OTHER }),
    count: hasOther ? 2 : 1,
    families,
    touched,
    lists: [],
  }));

test("countFlows() is how many flowsOf() yields", () => {
  fc.assert(
    fc.property(fc.array(endClass, { maxLength: 12 }), fc.nat({ max: 4 }), (ends, kinds) => {
      const traffic = Array.from({ length: kinds }, (_, i): Traffic => ({ protocol: i }));
      assert.equal(countFlows(ends, kinds), [...flowsOf(ends, traffic)].length);
    }),
  );
});

test("countFlows() counts what nobody could walk", () => {
  const end: EndClass = {
    name: "one",
    end: { address: "10.0.0.1" },
    count: 1,
    families: [4, 6],
    touched: ["egress"],
    lists: [],
  };
  // Each of 20,000 to each other one, in two families, with 1,500 kinds of traffic.
  assert.equal(
    countFlows(
      Array.from({ length: 20_000 }, () => end),
      1500,
    ),
    20_000 * 19_999 * 2 * 1500,
  );
});
