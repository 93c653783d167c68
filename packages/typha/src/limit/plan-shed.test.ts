import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "@bulrush/base";
import { type KnownPeer, pickTargets, planShed, type ShedInputs, type ShedPlan } from "./plan-shed.ts";

function peer(address: string, streams: number, limit = 400): KnownPeer {
  return { address, streams, limit };
}

function plan(more: Partial<ShedInputs>): ShedPlan {
  return planShed({ own: 100, limit: 400, peers: [], levelling: true, rounding: 0, ...more });
}

const rows: readonly [title: string, inputs: Partial<ShedInputs>, want: "rest" | "stuck" | "limit" | "levelling"][] = [
  ["nobody else", {}, "rest"],
  ["nobody else, over the limit", { own: 500 }, "stuck"],
  ["over the limit, others too", { own: 412, limit: 408, peers: [peer("a", 410, 408), peer("b", 411, 408)] }, "stuck"],
  [
    "over the limit, one has room",
    { own: 412, limit: 408, peers: [peer("a", 410, 408), peer("b", 400, 408)] },
    "limit",
  ],
  ["over the limit, the other one is hardly better off", { own: 401, peers: [peer("a", 400, 500)] }, "stuck"],
  ["over the limit without levelling", { own: 401, peers: [peer("a", 0)], levelling: false }, "limit"],
  ["far above another one, below the limit", { peers: [peer("a", 0)] }, "levelling"],
  ["the same without levelling", { peers: [peer("a", 0)], levelling: false }, "rest"],
  ["the same, but the other one takes nobody", { peers: [peer("a", 0, 0)] }, "rest"],
  ["the same, but one more", { peers: [peer("a", 99)] }, "rest"],
  ["within the tolerance", { peers: [peer("a", 96)] }, "rest"],
  ["just outside of it", { peers: [peer("a", 94)] }, "levelling"],
  ["a newcomer beside many", { peers: [peer("a", 100), peer("b", 100), peer("c", 0)] }, "levelling"],
  ["below the mean", { own: 90, peers: [peer("a", 200), peer("b", 10)] }, "rest"],
  ["few streams: 3 and 1", { own: 3, peers: [peer("a", 1)] }, "levelling"],
  ["few streams: 2 and 1", { own: 2, peers: [peer("a", 1)] }, "rest"],
];
for (const [title, inputs, want] of rows) {
  test(`planShed() with ${title}: ${want}`, () => {
    const result = plan(inputs);
    assert.equal(result.type === "shed" ? result.why : result.stuck ? "stuck" : "rest", want);
  });
}

test("planShed() hands over what is above the mean, to those below it and by how much they are", () => {
  const result = plan({ own: 130, peers: [peer("a", 100), peer("b", 90), peer("c", 40)] });
  assert.deepEqual(result, {
    type: "shed",
    why: "levelling",
    surplus: 40,
    targets: [{ address: "c", weight: 50 }],
  });
});

test("planShed() never sheds without a server that has room and two streams fewer", () => {
  const peers = fc.array(fc.record({ address: fc.string(), streams: fc.nat(500), limit: fc.nat(500) }), {
    maxLength: 6,
  });
  fc.assert(
    fc.property(fc.nat(500), fc.nat(500), peers, fc.boolean(), (own, limit, known, levelling) => {
      const result = planShed({ own, limit, peers: known, levelling, rounding: 0 });
      if (result.type === "rest") return;
      assert.ok(result.surplus >= 1);
      assert.ok(result.targets.length > 0);
      for (const { address, weight } of result.targets) {
        assert.ok(weight > 0);
        assert.ok(known.some((one) => one.address === address && one.streams < one.limit && own - one.streams >= 2));
      }
    }),
  );
});

test("pickTargets() picks each once, the heavy ones more often", () => {
  const random = seededRandom(7);
  const targets = [
    { address: "light", weight: 1 },
    { address: "heavy", weight: 9 },
  ];
  const first = Array.from({ length: 2000 }, () => pickTargets(targets, 1, random)[0]);
  const heavy = first.filter((address) => address === "heavy").length;
  assert.ok(heavy > 1700 && heavy < 1900, `${heavy} of 2,000`);
  assert.deepEqual([...pickTargets(targets, 5, random)].toSorted(), ["heavy", "light"]);
  assert.deepEqual(pickTargets([], 5, random), []);
});
