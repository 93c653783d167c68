import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeResource, Policy, Rule } from "@bulrush/model";
import { hostEndpoint, labelMap, policy, profileRules, tier, workload } from "../testing/fixtures.ts";
import { type KV, type State, update } from "../testing/harness.ts";
import { Explainer } from "./explainer.ts";
import type { Flow, FlowVerdict } from "./flow.ts";

const ALLOW: Rule = { action: "allow" };
const DENY: Rule = { action: "deny" };
const PASS: Rule = { action: "next-tier" };
const OPEN = profileRules("open", [ALLOW], [ALLOW]);

function node(name: string, address: string): KV {
  const value: NodeResource = {
    apiVersion: "projectcalico.org/v3",
    kind: "Node",
    metadata: { name },
    spec: { bgp: { ipv4Address: address } },
  };
  return { key: { type: "Resource", kind: "Node", namespace: "", name }, value };
}

/** Two hosts with an endpoint each, and a workload on each; all open by profile. */
const TWO_HOSTS: State = [
  OPEN,
  node("one", "192.168.0.1/24"),
  node("two", "192.168.0.2/24"),
  hostEndpoint("eth0", { name: "eth0", labels: labelMap({ host: "one" }), profile_ids: ["open"] }, "one"),
  hostEndpoint(
    "eth0",
    {
      name: "eth0",
      labels: labelMap({ host: "two" }),
      profile_ids: ["open"],
      expected_ipv4_addrs: ["192.168.0.2"],
    },
    "two",
  ),
  workload("a", { profile_ids: ["open"], ipv4_nets: ["10.0.1.1/32"], labels: labelMap({ app: "a" }) }, "one"),
  workload("b", { profile_ids: ["open"], ipv4_nets: ["10.0.2.1/32"], labels: labelMap({ app: "b" }) }, "two"),
];

const FAILSAFE = {
  inbound: [
    { protocol: "tcp", port: 22 },
    { protocol: "tcp", port: 9000, net: "10.0.0.0/8" },
  ],
  outbound: [{ protocol: "udp", port: 53 }],
} as const;

function judge(state: State, flow: Partial<Flow>): FlowVerdict {
  const explainer = new Explainer({ failsafe: FAILSAFE });
  explainer.update(state.map(({ key, value }) => update(key, value)));
  const defaults = { source: { address: "1.1.1.1" }, destination: { host: "two" }, protocol: "tcp", port: 80 };
  return explainer.explain({ ...defaults, ...flow }, true);
}

const onTwo = (name: string, rules: readonly Rule[], value: Partial<Policy> = {}): KV =>
  policy(name, { selector: "host == 'two'", types: ["ingress"], inbound_rules: rules, ...value });
const onOne = (name: string, rules: readonly Rule[], value: Partial<Policy> = {}): KV =>
  policy(name, { selector: "host == 'one'", types: ["egress"], outbound_rules: rules, ...value });

/** "verdict stage direction by policy", in order. */
function hostsOf({ hosts = [] }: FlowVerdict): string[] {
  return hosts.map(({ verdict, stage, direction, policy: by }) => `${verdict} ${stage} ${direction} ${by}`.trim());
}

const INTO_HOST: Partial<Flow> = {};
const OUT_OF_HOST: Partial<Flow> = { source: { host: "one" }, destination: { address: "1.1.1.1" } };
const POD_TO_POD: Partial<Flow> = { source: { workload: "a" }, destination: { workload: "b" } };
const P = "GlobalNetworkPolicy";

const rows: readonly (readonly [
  what: string,
  policies: State,
  flow: Partial<Flow>,
  verdict: "allow" | "deny",
  hosts: readonly string[],
])[] = [
  ["no policy: the profile of the host endpoint", [], INTO_HOST, "allow", ["allow normal ingress profile/open"]],
  ["normal policy", [onTwo("p", [DENY])], INTO_HOST, "deny", [`deny normal ingress ${P}/p`]],
  ["the end of the tier", [onTwo("p", [])], INTO_HOST, "deny", ["deny normal ingress"]],
  [
    "doNotTrack comes first, and its allow ends it",
    [onTwo("u", [ALLOW], { untracked: true }), onTwo("p", [DENY])],
    INTO_HOST,
    "allow",
    [`allow untracked ingress ${P}/u`],
  ],
  [
    "doNotTrack that does not decide goes on, whatever its tier says",
    [onTwo("u", [], { untracked: true }), onTwo("p", [DENY]), tier("default", { defaultAction: "Deny" })],
    INTO_HOST,
    "deny",
    ["none untracked ingress", `deny normal ingress ${P}/p`],
  ],
  [
    "preDNAT comes after doNotTrack and before normal",
    [onTwo("u", [PASS], { untracked: true }), onTwo("d", [DENY], { pre_dnat: true }), onTwo("p", [ALLOW])],
    INTO_HOST,
    "deny",
    ["none untracked ingress", `deny pre-dnat ingress ${P}/d`],
  ],
  [
    "an allow by preDNAT ends it",
    [onTwo("d", [ALLOW], { pre_dnat: true }), onTwo("p", [DENY])],
    INTO_HOST,
    "allow",
    [`allow pre-dnat ingress ${P}/d`],
  ],
  [
    "policy that is not for forwarded traffic does not touch it",
    [onTwo("p", [DENY]), onOne("q", [DENY])],
    POD_TO_POD,
    "allow",
    [],
  ],
  [
    "applyOnForward touches it on the way in",
    [onTwo("p", [DENY], { apply_on_forward: true })],
    POD_TO_POD,
    "deny",
    [`deny forward ingress ${P}/p`],
  ],
  [
    "and on the way out",
    [onOne("p", [DENY], { apply_on_forward: true })],
    POD_TO_POD,
    "deny",
    [`deny forward egress ${P}/p`],
  ],
  [
    "a tier of forward policy ends in deny",
    [onTwo("p", [], { apply_on_forward: true })],
    POD_TO_POD,
    "deny",
    ["deny forward ingress"],
  ],
  [
    "what all tiers of forward policy pass is left to the workload",
    [onTwo("p", [PASS], { apply_on_forward: true })],
    POD_TO_POD,
    "allow",
    ["none forward ingress"],
  ],
  [
    "doNotTrack and preDNAT see forwarded traffic too",
    [onTwo("u", [], { untracked: true }), onTwo("d", [DENY], { pre_dnat: true })],
    POD_TO_POD,
    "deny",
    ["none untracked ingress", `deny pre-dnat ingress ${P}/d`],
  ],
  [
    "out of the host: doNotTrack, then normal",
    [onOne("u", [], { untracked: true }), onOne("p", [DENY])],
    OUT_OF_HOST,
    "deny",
    ["none untracked egress", `deny normal egress ${P}/p`],
  ],
  [
    "preDNAT is not for what leaves",
    [onOne("d", [DENY], { pre_dnat: true })],
    OUT_OF_HOST,
    "allow",
    ["allow normal egress profile/open"],
  ],
  ["a failsafe port stays open", [onTwo("p", [DENY])], { port: 22 }, "allow", ["allow normal ingress"]],
  [
    "a failsafe port of one stage does not end the others",
    [onTwo("d", [DENY], { pre_dnat: true }), onTwo("p", [DENY])],
    { port: 22 },
    "allow",
    ["none pre-dnat ingress", "allow normal ingress"],
  ],
  ["a failsafe port for other peers", [onTwo("p", [DENY])], { port: 9000 }, "deny", [`deny normal ingress ${P}/p`]],
  [
    "a failsafe port for these peers",
    [onTwo("p", [DENY])],
    { source: { address: "10.9.9.9" }, port: 9000 },
    "allow",
    ["allow normal ingress"],
  ],
  [
    "forwarded traffic has no failsafe ports",
    [onTwo("p", [DENY], { apply_on_forward: true })],
    { ...POD_TO_POD, port: 22 },
    "deny",
    [`deny forward ingress ${P}/p`],
  ],
  [
    "an outbound failsafe port",
    [onOne("p", [DENY])],
    { ...OUT_OF_HOST, protocol: "udp", port: 53 },
    "allow",
    ["allow normal egress"],
  ],
  [
    "an expected address stands for the host endpoint",
    [onTwo("p", [DENY])],
    { destination: { address: "192.168.0.2" } },
    "deny",
    [`deny normal ingress ${P}/p`],
  ],
  [
    "the address of a node stands for the host",
    [policy("p", { selector: "host == 'one'", types: ["ingress"], inbound_rules: [DENY] })],
    { destination: { address: "192.168.0.1" } },
    "deny",
    [`deny normal ingress ${P}/p`],
  ],
  [
    "a host endpoint by name",
    [onTwo("p", [DENY])],
    { destination: { hostEndpoint: "two/eth0" } },
    "deny",
    [`deny normal ingress ${P}/p`],
  ],
  [
    "a rule by the host's address, from host to host",
    [onTwo("p", [{ action: "allow", src_nets: ["192.168.0.1/32"] }])],
    { source: { host: "one" } },
    "allow",
    ["allow normal egress profile/open", `allow normal ingress ${P}/p`],
  ],
];

for (const [what, policies, flow, verdict, hosts] of rows)
  test(`host endpoints: ${what}`, () => {
    const said = judge([...TWO_HOSTS, ...policies], flow);
    assert.deepEqual([said.verdict, hostsOf(said)], [verdict, hosts]);
  });

test("host endpoints: doNotTrack does not go with the endpoint of all interfaces", () => {
  const state = [
    OPEN,
    hostEndpoint("all", { name: "*", labels: labelMap({ host: "two" }), profile_ids: ["open"] }, "two"),
    onTwo("u", [DENY], { untracked: true }),
  ];
  const said = judge(state, INTO_HOST);
  assert.deepEqual([said.verdict, hostsOf(said)], ["allow", ["allow normal ingress profile/open"]]);
});

/** Two workloads of one host, whose endpoint is of all interfaces; nobody has another one. */
const WILDCARD: State = [
  OPEN,
  node("one", "192.168.0.1/24"),
  node("two", "192.168.0.2/24"),
  hostEndpoint("all", { name: "*", labels: labelMap({ host: "two" }), profile_ids: ["open"] }, "two"),
  workload("a", { profile_ids: ["open"], ipv4_nets: ["10.0.1.1/32"] }, "one"),
  workload("b", { profile_ids: ["open"], ipv4_nets: ["10.0.2.1/32"] }, "two"),
  workload("c", { profile_ids: ["open"], ipv4_nets: ["10.0.2.2/32"] }, "two"),
];

const OUT = { types: ["egress"], inbound_rules: [], outbound_rules: [DENY] } as const;

// projectcalico/vpp-dataplane#299, projectcalico/calico#2232
for (const [what, policies, flow, verdict, hosts] of [
  [
    "what a workload sends to its host meets preDNAT",
    [onTwo("d", [DENY], { pre_dnat: true }), onTwo("p", [DENY]), onTwo("f", [DENY], { apply_on_forward: true })],
    { source: { workload: "b" } },
    "deny",
    [`deny pre-dnat ingress ${P}/d`],
  ],
  [
    "what a workload sends to its host meets no other policy of the host",
    [onTwo("p", [DENY]), onTwo("f", [DENY], { apply_on_forward: true })],
    { source: { workload: "b" } },
    "allow",
    [],
  ],
  [
    "what a workload sends through its host meets preDNAT, then applyOnForward",
    [onTwo("d", [], { pre_dnat: true }), onTwo("f", [DENY], { apply_on_forward: true })],
    { source: { workload: "b" }, destination: { address: "1.1.1.1" } },
    "deny",
    ["none pre-dnat ingress", `deny forward ingress ${P}/f`],
  ],
  [
    "an allow by preDNAT ends the way in, not the way out",
    [
      onTwo("d", [ALLOW], { pre_dnat: true }),
      onTwo("f", [DENY], { apply_on_forward: true }),
      onTwo("o", [], { ...OUT, apply_on_forward: true }),
    ],
    { source: { workload: "b" }, destination: { address: "1.1.1.1" } },
    "deny",
    [`allow pre-dnat ingress ${P}/d`, `deny forward egress ${P}/o`],
  ],
  [
    "applyOnForward judges what goes between workloads of one host",
    [onTwo("f", [PASS], { apply_on_forward: true }), onTwo("o", [], { ...OUT, apply_on_forward: true })],
    { source: { workload: "b" }, destination: { workload: "c" } },
    "deny",
    ["none forward ingress", `deny forward egress ${P}/o`],
  ],
  [
    "what comes from elsewhere for a workload meets both directions",
    [onTwo("f", [ALLOW], { apply_on_forward: true }), onTwo("o", [], { ...OUT, apply_on_forward: true })],
    { source: { workload: "a" }, destination: { workload: "b" } },
    "deny",
    [`allow forward ingress ${P}/f`, `deny forward egress ${P}/o`],
  ],
  [
    "the host reaches its own workloads",
    [onTwo("f", [DENY], { apply_on_forward: true }), onTwo("o", [], { ...OUT, apply_on_forward: true })],
    { source: { host: "two" }, destination: { workload: "b" } },
    "allow",
    [],
  ],
] as const satisfies typeof rows)
  test(`the host endpoint of all interfaces: ${what}`, () => {
    const said = judge([...WILDCARD, ...policies], flow);
    assert.deepEqual([said.verdict, hostsOf(said)], [verdict, hosts]);
  });

test("host endpoints: of several, the one with the address is passed; a note says what was assumed", () => {
  const two = [
    hostEndpoint("eth1", { name: "eth1", profile_ids: [] }, "two"),
    hostEndpoint("all", { name: "*", profile_ids: [] }, "two"),
  ];
  const named = judge([...TWO_HOSTS, ...two], { destination: { address: "192.168.0.2" } });
  assert.deepEqual([named.verdict, named.hosts?.[0]?.endpoint, named.notes], ["allow", "two/eth0", undefined]);
  const assumed = judge([...TWO_HOSTS, ...two], INTO_HOST);
  assert.equal(assumed.hosts?.[0]?.endpoint, "two/eth0");
  assert.deepEqual(assumed.notes, [
    "two has several host endpoints: the packet is taken to pass two/eth0, not two/all, two/eth1",
  ]);
});

test("host endpoints: none is passed between ends on one host; notes say what policy does not decide", () => {
  const closed = onTwo("p", [DENY], { apply_on_forward: true });
  const toOwn = judge([...TWO_HOSTS, closed], { source: { host: "two" }, destination: { workload: "b" } });
  assert.deepEqual(
    [toOwn.hosts, toOwn.notes],
    [undefined, ["two reaches its own workloads whatever their policy says"]],
  );
  const toHost = judge([...TWO_HOSTS, closed], { source: { workload: "b" } });
  assert.equal(toHost.hosts, undefined);
  assert.match(toHost.notes?.[0] ?? "", /DefaultEndpointToHostAction/);
});

test("host endpoints: staged policy and what is next are told of them too", () => {
  const staged = policy(
    "s",
    { selector: "host == 'two'", types: ["ingress"], inbound_rules: [DENY] },
    "StagedGlobalNetworkPolicy",
  );
  const said = judge([...TWO_HOSTS, staged], INTO_HOST);
  assert.deepEqual([said.verdict, said.staged], ["allow", "deny"]);
  assert.equal(said.hosts?.[0]?.staged?.policy, "StagedGlobalNetworkPolicy/s");
  assert.equal(said.hosts?.[0]?.next?.verdict, "deny", "behind the profile is nothing but the end");
});

test("host endpoints: a staged policy that decides ends what follows, one that no longer does lets it judge", () => {
  const staged = (name: string, rules: readonly Rule[], value: Partial<Policy>): KV =>
    policy(
      name,
      { selector: "host == 'two'", types: ["ingress"], inbound_rules: rules, ...value },
      "StagedGlobalNetworkPolicy",
    );
  const ended = judge(
    [...TWO_HOSTS, staged("u", [ALLOW], { untracked: true }), staged("d", [DENY], { pre_dnat: true })],
    INTO_HOST,
  );
  assert.deepEqual([ended.verdict, ended.staged], ["allow", "allow"], "the allow ahead of all ends the host's policy");
  const reopened = judge(
    [...TWO_HOSTS, onTwo("u", [ALLOW], { untracked: true }), staged("u", [], { untracked: true }), onTwo("p", [DENY])],
    INTO_HOST,
  );
  assert.deepEqual([reopened.verdict, reopened.staged], ["allow", "deny"], "without it the normal policy judges");
  assert.deepEqual(hostsOf(reopened), [`allow untracked ingress ${P}/u`], "what is told is what is");
});
