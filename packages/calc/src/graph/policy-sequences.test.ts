import assert from "node:assert/strict";
import type { Rule } from "@bulrush/model";
import {
  EP1,
  EP1_NETS,
  EP2,
  EP2_NETS,
  HEP1,
  hostEndpoint,
  labelMap,
  networkSet,
  policy,
  POLICY_1,
  profileLabels,
  profileRules,
  SET_A,
  SET_B,
  setId,
  tier,
  workload,
} from "../testing/fixtures.ts";
import { sequence } from "../testing/sequence.ts";

const BOTH_NETS = [...new Set([...EP1_NETS, ...EP2_NETS])];
const GNP = (name: string): string => `GlobalNetworkPolicy/${name}`;
const EP1_ID = "orch/wl1/ep1";
const EP2_ID = "orch/wl2/ep2";
const POL1_TIERS = ["default: pol-1 | pol-1 ()"];
const EP1_PROFILES = ["prof-1", "prof-2", "prof-missing"];
const EP2_PROFILES = ["prof-2", "prof-3"];
const NOTHING = { ipSets: {}, policies: [], profiles: [], workloadTiers: {}, hostTiers: {} };

const withLocalPolicy = {
  name: "policy and endpoint 1",
  kvs: [POLICY_1, EP1, profileRules("prof-1"), profileRules("prof-2")],
  expect: {
    ipSets: { [SET_A]: EP1_NETS, [SET_B]: EP1_NETS },
    policies: [GNP("pol-1")],
    profiles: EP1_PROFILES,
    workloadTiers: { [EP1_ID]: POL1_TIERS },
    also: (actual: { readonly profiles: Readonly<Record<string, { readonly inbound_rules: readonly unknown[] }>> }) => {
      const actions = (rules: readonly unknown[] | undefined): unknown =>
        rules?.map((rule) => (rule as { readonly action: string }).action);
      assert.deepEqual(actions(actual.profiles["prof-1"]?.inbound_rules), []);
      assert.deepEqual(actions(actual.profiles["prof-missing"]?.inbound_rules), ["deny"], "an unknown profile denies");
    },
  },
};
const withEndpoint2 = {
  name: "policy and endpoint 2",
  kvs: [POLICY_1, EP2],
  expect: {
    ipSets: { [SET_A]: EP2_NETS, [SET_B]: [] },
    policies: [GNP("pol-1")],
    profiles: EP2_PROFILES,
    workloadTiers: { [EP2_ID]: POL1_TIERS },
  },
};
const withBoth = {
  name: "policy and both endpoints",
  kvs: [POLICY_1, EP1, EP2],
  expect: {
    ipSets: { [SET_A]: BOTH_NETS, [SET_B]: EP1_NETS },
    policies: [GNP("pol-1")],
    profiles: [...new Set([...EP1_PROFILES, ...EP2_PROFILES])],
    workloadTiers: { [EP1_ID]: POL1_TIERS, [EP2_ID]: POL1_TIERS },
  },
};
const MOVED_NETS = ["11.0.0.1/32", "11.0.0.2/32", "fc00:fe12::1/128", "fc00:fe12::2/128"];
const moved1 = workload("wl1/ep1", {
  ...(EP1.value as object),
  ipv4_nets: MOVED_NETS.slice(0, 2),
  ipv6_nets: MOVED_NETS.slice(2),
});

sequence("a policy is active only where an endpoint matches it", [
  { name: "policy alone", kvs: [POLICY_1], expect: NOTHING },
  withLocalPolicy,
  withEndpoint2,
  withBoth,
]);

sequence("an endpoint that changes its addresses takes only its own from the sets", [
  withBoth,
  {
    name: "endpoint 1 moved",
    kvs: [POLICY_1, moved1, EP2],
    expect: { ipSets: { [SET_A]: [...EP2_NETS, ...MOVED_NETS], [SET_B]: MOVED_NETS } },
  },
]);

const pol1In = (tierName: string): ReturnType<typeof policy> =>
  policy("pol-1", { ...(POLICY_1.value as object), tier: tierName });

sequence("a policy that moves between tiers is listed in the present one only", [
  {
    name: "tier-1",
    kvs: [tier("tier-1", { order: 20 }), pol1In("tier-1"), EP1],
    expect: { workloadTiers: { [EP1_ID]: ["tier-1: pol-1 | pol-1 (Deny)"] } },
  },
  {
    name: "tier-2",
    kvs: [tier("tier-1", { order: 20 }), tier("tier-2", { order: 30, defaultAction: "Pass" }), pol1In("tier-2"), EP1],
    expect: { workloadTiers: { [EP1_ID]: ["tier-2: pol-1 | pol-1 (Pass)"] } },
  },
  {
    name: "tier-2 without its resource",
    kvs: [pol1In("tier-2"), EP1],
    expect: { workloadTiers: { [EP1_ID]: ["tier-2: pol-1 | pol-1 ()"] } },
  },
]);

const ordered = (orders: readonly (number | undefined)[]): ReturnType<typeof policy>[] =>
  orders.map((order, i) =>
    policy(`pol-${i + 1}`, { tier: "tier-1", selector: "a == 'a'", ...(order === undefined ? {} : { order }) }),
  );
const tier1 = tier("tier-1", { order: 1 });

for (const [what, tiers, end] of [
  ["with", [tier1], "Deny"],
  ["without", [], ""],
] as const)
  sequence(
    `policies are listed by order, then by name, ${what} a tier resource`,
    (
      [
        [[10, 20, 30], "pol-1,pol-2,pol-3"],
        [[30, 20, 10], "pol-3,pol-2,pol-1"],
        [[10, 10, 10], "pol-1,pol-2,pol-3"],
        [[undefined, 10, 1], "pol-3,pol-2,pol-1"],
      ] as const
    ).map(([orders, names]) => ({
      name: orders.join(),
      kvs: [...tiers, ...ordered(orders), EP1],
      expect: { workloadTiers: { [EP1_ID]: [`tier-1: ${names} | ${names} (${end})`] } },
    })),
  );

sequence("tiers are listed: with a resource, then with an order, then the lower, then by name", [
  {
    name: "six tiers",
    kvs: [
      ...["t-none", "t-b", "t-a", "t-20", "t-10", "t-gone"].map((name) =>
        policy(`p-${name}`, { tier: name, selector: "all()" }),
      ),
      tier("t-b"),
      tier("t-a"),
      tier("t-20", { order: 20 }),
      tier("t-10", { order: 10 }),
      EP1,
    ],
    expect: {
      workloadTiers: {
        [EP1_ID]: ["t-10", "t-20", "t-a", "t-b", "t-gone", "t-none"].map(
          (name) => `${name}: p-${name} | p-${name} (${name === "t-gone" || name === "t-none" ? "" : "Deny"})`,
        ),
      },
    },
  },
  {
    name: "one tier lost its resource and its default with it",
    kvs: [
      policy("p1", { tier: "t-10" }),
      policy("p2", { tier: "t-20" }),
      tier("t-20", { order: 20, defaultAction: "Pass" }),
      EP1,
    ],
    expect: { workloadTiers: { [EP1_ID]: ["t-20: p2 | p2 (Pass)", "t-10: p1 | p1 ()"] } },
  },
]);

sequence("a policy counts only in the directions of its types, and in both without any", [
  {
    name: "ingress",
    kvs: [policy("pol-1", { ...(POLICY_1.value as object), types: ["ingress"] }), EP1],
    expect: { workloadTiers: { [EP1_ID]: ["default: pol-1 |  ()"] } },
  },
  {
    name: "egress, in capitals",
    kvs: [policy("pol-1", { ...(POLICY_1.value as object), types: ["Egress"] }), EP1],
    expect: { workloadTiers: { [EP1_ID]: ["default:  | pol-1 ()"] } },
  },
  {
    name: "none",
    kvs: [policy("pol-1", { ...(POLICY_1.value as object), types: [] }), EP1],
    expect: { workloadTiers: { [EP1_ID]: POL1_TIERS } },
  },
]);

const hostPolicy = (name: string, value: object): ReturnType<typeof policy> =>
  policy(name, { selector: "a == 'a'", order: 20, ...value });
const noTiers = { normal: [], forward: [], untracked: [], preDnat: [] };

sequence("a host endpoint lists a policy in exactly one of three ways, and for forwarding where asked", [
  {
    name: "normal",
    kvs: [POLICY_1, HEP1],
    expect: {
      ipSets: { [SET_A]: EP1_NETS, [SET_B]: EP1_NETS },
      profiles: EP1_PROFILES,
      hostTiers: { ep1: { ...noTiers, normal: POL1_TIERS } },
      workloadTiers: {},
    },
  },
  {
    name: "doNotTrack",
    kvs: [hostPolicy("pol-1", { untracked: true, apply_on_forward: true }), HEP1],
    expect: { hostTiers: { ep1: { ...noTiers, untracked: ["default: pol-1 | pol-1 (Pass)"] } } },
  },
  {
    name: "doNotTrack beside a normal one",
    kvs: [hostPolicy("pol-1", { untracked: true, apply_on_forward: true }), hostPolicy("pol-2", {}), HEP1],
    expect: {
      hostTiers: {
        ep1: { ...noTiers, normal: ["default: pol-2 | pol-2 ()"], untracked: ["default: pol-1 | pol-1 (Pass)"] },
      },
    },
  },
  {
    name: "preDNAT: ingress only",
    kvs: [hostPolicy("pol-1", { pre_dnat: true, apply_on_forward: true }), tier("default", { order: 1 }), HEP1],
    expect: { hostTiers: { ep1: { ...noTiers, preDnat: ["default: pol-1 |  (Pass)"] } } },
  },
  {
    name: "applyOnForward: normal and forward",
    kvs: [hostPolicy("pol-1", { apply_on_forward: true }), hostPolicy("pol-2", {}), tier("default"), HEP1],
    expect: {
      hostTiers: {
        ep1: {
          ...noTiers,
          normal: ["default: pol-1,pol-2 | pol-1,pol-2 (Deny)"],
          forward: ["default: pol-1 | pol-1 (Deny)"],
        },
      },
    },
  },
  {
    name: "a workload gets normal ones only",
    kvs: [
      hostPolicy("pol-1", { untracked: true, apply_on_forward: true }),
      hostPolicy("pol-2", { pre_dnat: true, apply_on_forward: true }),
      hostPolicy("pol-3", { apply_on_forward: true }),
      EP1,
    ],
    expect: { workloadTiers: { [EP1_ID]: ["default: pol-3 | pol-3 ()"] }, hostTiers: {} },
  },
]);

sequence("a host endpoint with an empty label value has that label", [
  {
    name: "label present, empty",
    kvs: [policy("pol-1", { selector: "has(x)" }), hostEndpoint("h", { labels: labelMap({ x: "" }) })],
    expect: { hostTiers: { h: { ...noTiers, normal: POL1_TIERS } } },
  },
]);

const NETS_1 = ["12.0.0.0/24", "12.0.0.0/24", "12.1.0.0/24", "10.0.0.1/32", "feed:beef::/32", "feed:beef:0::0/32"];

sequence("network sets give their networks, masked, each once, until nobody gives it", [
  {
    name: "one set",
    kvs: [POLICY_1, HEP1, networkSet("n1", NETS_1, { a: "b" })],
    expect: {
      ipSets: { [SET_A]: [...EP1_NETS, "12.0.0.0/24", "12.1.0.0/24", "feed:beef::/32"], [SET_B]: EP1_NETS },
    },
  },
  {
    name: "with label b",
    kvs: [POLICY_1, HEP1, networkSet("n1", NETS_1, { a: "b", b: "b" })],
    expect: {
      ipSets: {
        [SET_A]: [...EP1_NETS, "12.0.0.0/24", "12.1.0.0/24", "feed:beef::/32"],
        [SET_B]: [...EP1_NETS, "12.0.0.0/24", "12.1.0.0/24", "feed:beef::/32"],
      },
    },
  },
  {
    name: "two sets share a network",
    kvs: [POLICY_1, HEP1, networkSet("n1", NETS_1, { b: "b" }), networkSet("n2", ["12.0.0.0/24", "13.1.0.0/24"], {})],
    expect: {
      ipSets: {
        [SET_A]: [...EP1_NETS, "12.0.0.0/24", "12.1.0.0/24", "feed:beef::/32", "13.1.0.0/24"],
        [SET_B]: [...EP1_NETS, "12.0.0.0/24", "12.1.0.0/24", "feed:beef::/32"],
      },
    },
  },
  {
    name: "only the second is left",
    kvs: [POLICY_1, HEP1, networkSet("n2", ["12.0.0.0/24", "13.1.0.0/24"], {})],
    expect: { ipSets: { [SET_A]: [...EP1_NETS, "12.0.0.0/24", "13.1.0.0/24"], [SET_B]: EP1_NETS } },
  },
  {
    name: "host bits, a repeated network and everything",
    kvs: [
      POLICY_1,
      HEP1,
      networkSet("n3", ["192.168.4.10/16", "192.168.20.1/16"], {}),
      networkSet("n4", ["0.0.0.0/0", "::/0"], { b: "b" }),
    ],
    expect: {
      ipSets: {
        [SET_A]: ["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"],
        [SET_B]: ["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"],
      },
    },
  },
]);

const widths = (...nets: readonly string[]): readonly ReturnType<typeof policy>[] => [
  POLICY_1,
  EP1,
  networkSet("n1", nets, {}),
];

sequence("a broader member hides the narrower, for as long as it is there", [
  {
    name: "/16",
    kvs: widths("10.65.0.0/16"),
    expect: { ipSets: { [SET_A]: [...EP1_NETS, "10.65.0.0/16"], [SET_B]: EP1_NETS } },
  },
  {
    name: "/16, /24 and /32",
    kvs: widths("10.65.0.0/16", "10.65.1.0/24", "10.65.1.5/32"),
    expect: { ipSets: { [SET_A]: [...EP1_NETS, "10.65.0.0/16"], [SET_B]: EP1_NETS } },
  },
  {
    name: "/16 and /32",
    kvs: widths("10.65.0.0/16", "10.65.1.5/32"),
    expect: { ipSets: { [SET_A]: [...EP1_NETS, "10.65.0.0/16"], [SET_B]: EP1_NETS } },
  },
  {
    name: "/24 and /32",
    kvs: widths("10.65.1.0/24", "10.65.1.5/32"),
    expect: { ipSets: { [SET_A]: [...EP1_NETS, "10.65.1.0/24"], [SET_B]: EP1_NETS } },
  },
]);

sequence(
  "narrower members are kept where overlaps are allowed",
  [
    {
      name: "/16 and /24",
      kvs: widths("10.65.0.0/16", "10.65.1.0/24"),
      expect: { ipSets: { [SET_A]: [...EP1_NETS, "10.65.0.0/16", "10.65.1.0/24"], [SET_B]: EP1_NETS } },
    },
  ],
  { suppressOverlaps: false },
);

const negatedRules = (selector: string): Rule[] => [{ "!src_selector": selector }];

sequence("profile rules make sets, of negated selectors too, while the profile is in use", [
  {
    name: "a profile with a selector",
    kvs: [EP1, profileRules("prof-1", [{ src_selector: "all()" }], [{ src_selector: "b == 'b'" }])],
    expect: { ipSets: { [SET_A]: EP1_NETS, [SET_B]: EP1_NETS }, policies: [] },
  },
  {
    name: "negated",
    kvs: [EP1, profileRules("prof-1", negatedRules("all()"), negatedRules("b == 'b'"))],
    expect: { ipSets: { [SET_A]: EP1_NETS, [SET_B]: EP1_NETS } },
  },
  {
    name: "endpoint without profiles",
    kvs: [
      workload("wl1/ep1", { ...(EP1.value as object), profile_ids: [] }),
      profileRules("prof-1", negatedRules("all()")),
    ],
    expect: { ipSets: {}, profiles: [] },
  },
]);

const tagPolicy = policy("pol-1", { selector: "all()", inbound_rules: [{ src_selector: "tag-1 == 'foobar'" }] });
const TAG_SET = setId.selector("tag-1 == 'foobar'");

sequence("labels are inherited from profiles, own ones first", [
  {
    name: "an empty inherited label is not the value asked for",
    kvs: [tagPolicy, EP1, profileLabels("prof-1", { "tag-1": "" })],
    expect: { ipSets: { [TAG_SET]: [] } },
  },
  {
    name: "inherited by both",
    kvs: [tagPolicy, EP1, EP2, profileLabels("prof-2", { "tag-1": "foobar" })],
    expect: { ipSets: { [TAG_SET]: BOTH_NETS } },
  },
  {
    name: "the first profile that has it counts",
    kvs: [
      tagPolicy,
      EP1,
      EP2,
      profileLabels("prof-1", { "tag-1": "other" }),
      profileLabels("prof-2", { "tag-1": "foobar" }),
    ],
    expect: { ipSets: { [TAG_SET]: EP2_NETS } },
  },
]);

sequence("policies apply by inherited labels", [
  {
    name: "by a profile of endpoint 1",
    kvs: [policy("pol-1", { selector: "tag-1 == 'x'" }), EP1, EP2, profileLabels("prof-1", { "tag-1": "x" })],
    expect: { workloadTiers: { [EP1_ID]: POL1_TIERS, [EP2_ID]: [] } },
  },
  {
    name: "by a profile of both",
    kvs: [policy("pol-1", { selector: "tag-1 == 'x'" }), EP1, EP2, profileLabels("prof-2", { "tag-1": "x" })],
    expect: { workloadTiers: { [EP1_ID]: POL1_TIERS, [EP2_ID]: POL1_TIERS } },
  },
  {
    name: "not any more",
    kvs: [policy("pol-1", { selector: "tag-1 == 'x'" }), EP1, EP2],
    expect: { workloadTiers: { [EP1_ID]: [], [EP2_ID]: [] }, policies: [] },
  },
]);

const hinted = policy("pol-1", { ...(POLICY_1.value as object), performance_hints: ["AssumeNeededOnEveryNode"] });

sequence("a policy with the hint is active without an endpoint, and only while it has the hint", [
  { name: "hint", kvs: [hinted], expect: { policies: [GNP("pol-1")], ipSets: { [SET_A]: [], [SET_B]: [] } } },
  { name: "no hint", kvs: [POLICY_1], expect: { policies: [], ipSets: {} } },
  {
    name: "hint and endpoint",
    kvs: [hinted, EP1],
    expect: { policies: [GNP("pol-1")], workloadTiers: { [EP1_ID]: POL1_TIERS } },
  },
]);

const staged = (name: string, value: object = {}): ReturnType<typeof policy> =>
  policy(name, { selector: "a == 'a'", ...value }, "StagedGlobalNetworkPolicy");

sequence("staged policies are listed under their own kind, and not at all when they stand for a removal", [
  {
    name: "beside the policy of their name",
    kvs: [POLICY_1, staged("pol-1"), EP1],
    expect: {
      policies: [GNP("pol-1"), "StagedGlobalNetworkPolicy/pol-1"],
      workloadTiers: {
        [EP1_ID]: ["default: pol-1,StagedGlobalNetworkPolicy/pol-1 | pol-1,StagedGlobalNetworkPolicy/pol-1 ()"],
      },
    },
  },
  {
    name: "removal",
    kvs: [POLICY_1, staged("pol-1", { staged_action: "Delete" }), EP1],
    expect: { policies: [GNP("pol-1")], workloadTiers: { [EP1_ID]: POL1_TIERS } },
  },
  {
    name: "the word removes no policy that is enforced",
    kvs: [policy("pol-1", { ...(POLICY_1.value as object), staged_action: "Delete" }), EP1],
    expect: { policies: [GNP("pol-1")], workloadTiers: { [EP1_ID]: POL1_TIERS } },
  },
]);

sequence("policies of one name in several kinds and namespaces are different", [
  {
    name: "three",
    kvs: [
      policy("p", {}, "NetworkPolicy", "n1"),
      policy("p", {}, "NetworkPolicy", "n2"),
      policy("p", {}, "KubernetesNetworkPolicy", "n1"),
      EP1,
    ],
    expect: {
      workloadTiers: {
        // By the bytes of name, namespace and kind.
        [EP1_ID]: [
          "default: KubernetesNetworkPolicy/n1/p,NetworkPolicy/n1/p,NetworkPolicy/n2/p | KubernetesNetworkPolicy/n1/p,NetworkPolicy/n1/p,NetworkPolicy/n2/p ()",
        ],
      },
    },
  },
]);
