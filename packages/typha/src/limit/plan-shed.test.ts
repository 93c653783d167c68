import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "@bulrush/base";
import { type KnownPeer, pickTargets, planShed, type ShedInputs, type ShedPlan } from "./plan-shed.ts";

function peer(address: string, streams: number, limit = 400): KnownPeer {
  return typedPeer(address, { felix: streams }, limit);
}

function typedPeer(address: string, types: Readonly<Record<string, number>>, limit = 400): KnownPeer {
  const streams = Object.values(types).reduce((sum, count) => sum + count, 0);
  return { address, streams, types: new Map(Object.entries(types)), limit };
}

function plan({ own = 100, ...more }: Partial<ShedInputs>): ShedPlan {
  const ownTypes = new Map([["felix", own]]);
  return planShed({ own, ownTypes, limit: 400, peers: [], levelling: true, rounding: 0, ...more });
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
    syncer: "felix",
    surplus: 40,
    targets: [{ address: "c", weight: 50 }],
  });
});

const typed: readonly [
  title: string,
  own: Readonly<Record<string, number>>,
  peers: readonly KnownPeer[],
  want: string | undefined,
][] = [
  ["as many in all, but another mixture", { felix: 100 }, [typedPeer("a", { bgp: 100 })], "felix of 50 to a"],
  ["the same seen from the other one", { bgp: 100 }, [typedPeer("a", { felix: 100 })], "bgp of 50 to a"],
  [
    "more of two types: the one that is most above",
    { felix: 60, bgp: 90 },
    [typedPeer("a", { felix: 40, bgp: 10 })],
    "bgp of 40 to a",
  ],
  [
    "few of the type where there is no room, and few of all elsewhere",
    { felix: 60 },
    [typedPeer("full", { felix: 10, bgp: 50 }, 60), typedPeer("open", { felix: 35, bgp: 10 })],
    "felix of 5 to open",
  ],
  [
    "one more of each type",
    { felix: 3, bgp: 3, "node-status": 3 },
    [typedPeer("a", { felix: 2, bgp: 2, "node-status": 2 })],
    "felix of 2 to a",
  ],
  [
    "two more in all, though as many of some types",
    { felix: 5, bgp: 5, "node-status": 5, "tunnel-ip-allocation": 5 },
    [typedPeer("a", { felix: 5, bgp: 5, "node-status": 4, "tunnel-ip-allocation": 4 })],
    "node-status of 1 to a",
  ],
  ["one more of one type", { felix: 3, bgp: 3 }, [typedPeer("a", { felix: 2, bgp: 3 })], undefined],
  [
    "a server that does not tell its types",
    { felix: 100 },
    [{ address: "a", streams: 20, types: undefined, limit: 400 }],
    "any of 40 to a",
  ],
];
for (const [title, own, peers, want] of typed) {
  test(`planShed() levels by type: ${title}`, () => {
    const ownTypes = new Map(Object.entries(own));
    const result = plan({ own: [...ownTypes.values()].reduce((sum, count) => sum + count, 0), ownTypes, peers });
    const shown =
      result.type === "rest"
        ? undefined
        : `${result.syncer ?? "any"} of ${result.surplus} to ${result.targets.map(({ address }) => address).join()}`;
    assert.equal(shown, want);
  });
}

test("planShed() over the limit hands over the type of which it has most above the mean", () => {
  const ownTypes = new Map(Object.entries({ felix: 50, bgp: 70 }));
  const result = plan({ own: 120, ownTypes, limit: 100, peers: [typedPeer("a", { felix: 10, bgp: 60 }, 100)] });
  assert.deepEqual(result, {
    type: "shed",
    why: "limit",
    syncer: "felix",
    surplus: 20,
    targets: [{ address: "a", weight: 25 }],
  });
});

test("planShed() never sheds without a server that has room and two streams fewer", () => {
  const counts = fc.dictionary(fc.constantFrom("felix", "bgp"), fc.nat(250), { noNullPrototype: true });
  const peers = fc.array(
    fc.tuple(fc.string(), counts, fc.nat(500)).map((each) => typedPeer(...each)),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(counts, fc.nat(500), peers, fc.boolean(), (types, limit, known, levelling) => {
      const ownTypes = new Map(Object.entries(types));
      const own = [...ownTypes.values()].reduce((sum, count) => sum + count, 0);
      const result = planShed({ own, ownTypes, limit, peers: known, levelling, rounding: 0 });
      if (result.type === "rest") return;
      assert.ok(result.surplus >= 1);
      assert.ok(result.targets.length > 0);
      for (const { address, weight } of result.targets) {
        assert.ok(weight > 0);
        const { syncer } = result;
        const hasFewer = (one: KnownPeer): boolean => {
          const ofType = syncer === undefined ? 0 : (ownTypes.get(syncer) ?? 0) - (one.types?.get(syncer) ?? 0);
          return own - one.streams >= 2 || ofType >= 2;
        };
        assert.ok(known.some((one) => one.address === address && one.streams < one.limit && hasFewer(one)));
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
