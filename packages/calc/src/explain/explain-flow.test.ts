import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rule } from "@bulrush/model";
import type { CalcError } from "../errors.ts";
import { labelMap, networkSet, policy, profileRules, slice, tier, workload } from "../testing/fixtures.ts";
import { Rig, type State } from "../testing/harness.ts";
import { explainFlow } from "./explain-flow.ts";
import type { Flow, FlowVerdict } from "./flow.ts";

const ALLOW: Rule = { action: "allow" };
const DENY: Rule = { action: "deny" };
const PASS: Rule = { action: "next-tier" };
const OPEN = profileRules("open", [ALLOW], [ALLOW]);

/** Two workloads that allow everything by profile, of which policies may say otherwise. */
function pods(extra: object = {}): State {
  return [
    OPEN,
    workload("client", {
      profile_ids: ["open"],
      labels: labelMap({ app: "client" }),
      ipv4_nets: ["10.0.0.1/32"],
      ipv6_nets: ["fd00::1/128"],
    }),
    workload("server", {
      profile_ids: ["open"],
      labels: labelMap({ app: "server" }),
      ipv4_nets: ["10.0.0.2/32"],
      ipv6_nets: ["fd00::2/128"],
      ports: [{ name: "web", protocol: "tcp", port: 80 }],
      ...extra,
    }),
  ];
}

function judge(state: State, flow: Partial<Flow> = {}): FlowVerdict {
  const rig = new Rig("*");
  rig.go(state);
  rig.inSync();
  rig.flush();
  const defaults: Flow = {
    source: { workload: "client" },
    destination: { workload: "server" },
    protocol: "tcp",
    port: 80,
  };
  return explainFlow(rig.state, { ...defaults, ...flow }, { describeIpSet: (id) => rig.graph.describeIpSet(id) });
}

const onServer = (name: string, rules: readonly Rule[], value: object = {}): ReturnType<typeof policy> =>
  policy(name, { selector: "app == 'server'", types: ["ingress"], inbound_rules: rules, ...value });

test("explainFlow() follows tiers, policies and rules in order", () => {
  const rows: readonly [string, State, FlowVerdict["verdict"], string, string, number | null][] = [
    ["no policy: the profile", [], "allow", "", "profile/open", 0],
    ["an allow", [onServer("p", [ALLOW])], "allow", "default", "GlobalNetworkPolicy/p", 0],
    ["no rule: the tier's end", [onServer("p", [])], "deny", "default", "", null],
    ["a log goes on", [onServer("p", [{ action: "log" }, DENY])], "deny", "default", "GlobalNetworkPolicy/p", 1],
    ["the first match decides", [onServer("p", [DENY, ALLOW])], "deny", "default", "GlobalNetworkPolicy/p", 0],
    [
      "the lower order first",
      [onServer("a", [DENY], { order: 2 }), onServer("b", [ALLOW], { order: 1 })],
      "allow",
      "default",
      "GlobalNetworkPolicy/b",
      0,
    ],
    ["pass in the last tier: profiles", [onServer("p", [PASS, DENY])], "allow", "", "profile/open", 0],
    [
      "pass: the next tier",
      [
        onServer("a", [PASS], { tier: "t1" }),
        onServer("b", [DENY], { tier: "t1" }),
        onServer("c", [ALLOW], { tier: "t2" }),
        tier("t1", { order: 1 }),
        tier("t2", { order: 2 }),
      ],
      "allow",
      "t2",
      "GlobalNetworkPolicy/c",
      0,
    ],
    [
      "a tier that passes its end",
      [onServer("a", [], { tier: "t1" }), tier("t1", { order: 1, defaultAction: "Pass" })],
      "allow",
      "",
      "profile/open",
      0,
    ],
    [
      "a tier without policies for the direction",
      [onServer("a", [], { types: ["egress"] })],
      "allow",
      "",
      "profile/open",
      0,
    ],
    [
      "a staged policy decides nothing and ends no tier",
      [policy("p", { selector: "all()", inbound_rules: [DENY] }, "StagedGlobalNetworkPolicy")],
      "allow",
      "",
      "profile/open",
      0,
    ],
  ];
  for (const [what, policies, verdict, tierName, policyName, rule] of rows) {
    const { ingress } = judge([...pods(), ...policies]);
    assert.ok(ingress !== undefined, what);
    const { steps, why, ...decision } = ingress;
    assert.deepEqual(decision, { verdict, tier: tierName, policy: policyName, rule }, what);
    assert.ok(steps.length > 0 && why !== "", what);
    assert.equal(steps.at(-1)?.action, verdict, what);
  }
});

test("explainFlow() denies where profiles do not decide, whether missing or silent", () => {
  const missing = judge(pods({ profile_ids: ["nobody-made-it", "open"] }));
  assert.deepEqual([missing.ingress?.verdict, missing.ingress?.policy], ["deny", "profile/nobody-made-it"]);
  const silent = judge([...pods({ profile_ids: ["silent", "open"] }), profileRules("silent", [PASS, DENY])]);
  assert.deepEqual([silent.ingress?.verdict, silent.ingress?.policy], ["allow", "profile/open"], "pass: next profile");
  const none = judge(pods({ profile_ids: [] }));
  assert.deepEqual([none.ingress?.verdict, none.ingress?.policy], ["deny", ""]);
});

test("explainFlow() judges both sides, and only those that are known", () => {
  const closed = policy("p", { selector: "app == 'client'", types: ["egress"] });
  const both = judge([...pods(), closed]);
  assert.deepEqual([both.verdict, both.egress?.verdict, both.ingress?.verdict], ["deny", "deny", "allow"]);
  const out = judge([...pods(), closed], { destination: { address: "8.8.8.8" } });
  assert.deepEqual([out.verdict, out.egress?.verdict, out.ingress], ["deny", "deny", undefined]);
  const into = judge([...pods(), closed], { source: { address: "8.8.8.8" } });
  assert.deepEqual([into.verdict, into.egress, into.ingress?.verdict], ["allow", undefined, "allow"]);
  const known = judge([...pods(), closed], { source: { address: "10.0.0.1" } });
  assert.equal(known.egress?.verdict, "deny", "an address of an endpoint stands for it");
});

test("explainFlow() lets nothing through an inactive endpoint, or one without an address", () => {
  assert.equal(judge(pods({ state: "inactive" })).ingress?.verdict, "deny");
  assert.match(judge(pods({ ipv4_nets: [], ipv6_nets: [] })).ingress?.why ?? "", /no IPv4 address/);
});

test("explainFlow() picks IPv4 for dual-stack ends unless told otherwise", () => {
  assert.equal(judge(pods()).ipVersion, 4);
  assert.equal(judge(pods(), { ipVersion: 6 }).ipVersion, 6);
  assert.equal(judge(pods(), { destination: { address: "fd00::2" } }).ipVersion, 6);
  assert.equal(judge(pods({ ipv4_nets: [] })).ipVersion, 6);
});

test("explainFlow() takes each condition of a rule as it is meant", () => {
  const set = [networkSet("n", ["10.0.0.0/24", "fd00::/64"], { role: "lan" })];
  const rows: readonly [string, Rule, Partial<Flow>, boolean][] = [
    ["protocol", { protocol: "tcp" }, {}, true],
    ["protocol by number", { protocol: 6 }, {}, true],
    ["other protocol", { protocol: "udp" }, {}, false],
    ["flow protocol in capitals", { protocol: "sctp" }, { protocol: "SCTP" }, true],
    ["not protocol", { "!protocol": "tcp" }, {}, false],
    ["not another protocol", { "!protocol": 17 }, {}, true],
    ["port", { protocol: "tcp", dst_ports: [79, 80] }, {}, true],
    ["port range", { protocol: "tcp", dst_ports: ["70:80"] }, {}, true],
    ["outside of the range", { protocol: "tcp", dst_ports: ["81:90"] }, {}, false],
    ["not port", { protocol: "tcp", "!dst_ports": [80] }, {}, false],
    ["not another port", { protocol: "tcp", "!dst_ports": [81] }, {}, true],
    ["source port", { protocol: "tcp", src_ports: [1234] }, { sourcePort: 1234 }, true],
    ["source port not said", { protocol: "tcp", src_ports: [1234] }, {}, false],
    ["not a source port, not said", { protocol: "tcp", "!src_ports": [1234] }, {}, true],
    ["named port", { protocol: "tcp", dst_ports: ["web"] }, {}, true],
    ["named or numeric port", { protocol: "tcp", dst_ports: ["other", 80] }, {}, true],
    ["a named port that is not there", { protocol: "tcp", dst_ports: ["other"] }, {}, false],
    ["not a named port", { protocol: "tcp", "!dst_ports": ["web"] }, {}, false],
    ["named port of endpoints that are not this", { dst_selector: "app == 'client'", dst_ports: ["web"] }, {}, false],
    ["source net", { src_nets: ["11.0.0.0/8", "10.0.0.0/24"] }, {}, true],
    ["other source net", { src_nets: ["11.0.0.0/8"] }, {}, false],
    ["not source net", { "!src_nets": ["10.0.0.0/24"] }, {}, false],
    ["not another net", { "!dst_nets": ["11.0.0.0/8"] }, {}, true],
    ["selector", { src_selector: "app == 'client'" }, {}, true],
    ["other selector", { src_selector: "app == 'server'" }, {}, false],
    ["not selector", { "!src_selector": "app == 'client'" }, {}, false],
    ["selector and not", { src_selector: "has(app)", "!src_selector": "app == 'client'" }, {}, false],
    ["network set", { src_selector: "role == 'lan'" }, {}, true],
    ["destination selector", { dst_selector: "app == 'server'" }, {}, true],
    ["IP version", { ip_version: 4 }, {}, true],
    ["other IP version", { ip_version: 6 }, {}, false],
    ["nets of the other family only", { src_nets: ["fd00::/64"] }, {}, false],
    ["nets of both", { src_nets: ["fd00::/64", "10.0.0.0/24"] }, { ipVersion: 6 }, true],
    ["excluded nets of the other family only", { "!src_nets": ["fd00::/64"] }, {}, false],
    ["everything of the family excluded", { "!src_nets": ["0.0.0.0/0"] }, {}, false],
    ["icmp", { protocol: "icmp", icmp_type: 8 }, { protocol: "icmp", icmp: { type: 8 } }, true],
    ["icmp code", { protocol: "icmp", icmp_type: 8, icmp_code: 1 }, { protocol: "icmp", icmp: { type: 8 } }, false],
    ["not icmp", { protocol: "icmp", "!icmp_type": 8 }, { protocol: "icmp", icmp: { type: 8 } }, false],
    ["no other protocol is icmp", { icmp_type: 8 }, { protocol: "tcp", icmp: { type: 8 } }, false],
    ["not icmp, of another protocol", { "!icmp_type": 8 }, { protocol: "tcp" }, true],
    ["58 inside IPv4", { protocol: 58, icmp_type: 128 }, { protocol: 58, icmp: { type: 128 } }, false],
    ["not 58 inside IPv4", { protocol: 58, "!icmp_type": 128 }, { protocol: 58, icmp: { type: 128 } }, true],
    ["58 inside IPv6", { protocol: 58, icmp_type: 128 }, { protocol: 58, icmp: { type: 128 }, ipVersion: 6 }, true],
    ["no port by number, of no protocol", { "!dst_ports": [80] }, { protocol: "icmp" }, false],
    ["icmp is IPv4", { protocol: "icmp" }, { protocol: "icmp", ipVersion: 6 }, false],
    ["icmp over IPv6 is icmpv6", { protocol: "icmpv6" }, { protocol: "icmp", ipVersion: 6 }, true],
    ["service", { dst_service: "svc", dst_service_ns: "default" }, {}, true],
    ["service, other port", { dst_service: "svc", dst_service_ns: "default" }, { port: 81 }, false],
    ["source service", { src_service: "clients", src_service_ns: "default" }, {}, true],
    ["unknown service", { src_service: "no", src_service_ns: "default" }, {}, false],
  ];
  for (const [what, conditions, flow, matches] of rows) {
    const slices = [slice("s", "svc", ["10.0.0.2"]), slice("c", "clients", ["10.0.0.1"])];
    const { ingress } = judge(
      [...pods(), ...set, ...slices, onServer("p", [{ ...conditions, action: "allow" }])],
      flow,
    );
    assert.equal(ingress?.verdict, matches ? "allow" : "deny", `${what}: ${ingress?.steps[0]?.why}`);
    if (!matches) assert.notEqual(ingress?.steps[0]?.why, "", what);
  }
});

test("explainFlow() names the sets in words", () => {
  const { ingress } = judge([...pods(), onServer("p", [{ src_selector: "app == 'nobody'" }])]);
  assert.equal(ingress?.steps[0]?.why, 'source 10.0.0.1 is not in the set of app == "nobody"');
});

test("explainFlow() refuses what is no flow, or names nothing", () => {
  const codeOf = (flow: Partial<Flow>): string => {
    try {
      judge(pods(), flow);
    } catch (error) {
      return (error as CalcError).code;
    }
    return "none";
  };
  assert.equal(codeOf({ source: { workload: "nobody" } }), "CALC_ENDPOINT_UNKNOWN");
  assert.equal(codeOf({ source: { address: "10.0.0" } }), "CALC_FLOW_INVALID");
  assert.equal(codeOf({ protocol: "ttcp" }), "CALC_FLOW_INVALID");
  assert.equal(codeOf({ protocol: 256 }), "CALC_FLOW_INVALID");
  assert.equal(codeOf({ port: 65536 }), "CALC_FLOW_INVALID");
  assert.equal(codeOf({ source: { address: "10.0.0.1" }, ipVersion: 6 }), "CALC_FLOW_INVALID");
});

test("a graph of all hosts keeps endpoints of one name on two hosts apart", () => {
  const rig = new Rig("*");
  rig.go([
    workload("w", { ipv4_nets: ["10.0.0.1/32"] }, "host-a"),
    workload("w", { ipv4_nets: ["10.0.0.2/32"] }, "host-b"),
  ]);
  rig.inSync();
  rig.flush();
  assert.deepEqual([...rig.state.workloadEndpoints.keys()], ["host-a/orch/w/ep", "host-b/orch/w/ep"]);
});

test("explainFlow() names the enforced policies at whose tier's end a flow is denied, five at most", () => {
  const names = ["a", "b", "c", "d", "e", "f", "g"];
  const { ingress } = judge([...pods(), ...names.map((name) => onServer(name, []))]);
  const listed = names
    .slice(0, 5)
    .map((name) => `GlobalNetworkPolicy/${name}`)
    .join(", ");
  assert.equal(
    ingress?.why,
    `no rule in tier default matched, and policies in it apply to the endpoint (${listed} and 2 more): the tier denies the rest`,
  );
});

test("explainFlow() lets a workload reach itself, whatever policy says", () => {
  const own = judge([...pods(), onServer("p", [])], { source: { workload: "server" } });
  assert.equal(own.verdict, "allow");
  for (const side of [own.egress, own.ingress])
    assert.deepEqual(
      [side?.verdict, side?.policy, side?.why],
      ["allow", "", "what a workload sends to itself, also by a service, is let through, whatever policy says"],
    );
  assert.equal(judge([...pods(), onServer("p", [])]).verdict, "deny");
});
