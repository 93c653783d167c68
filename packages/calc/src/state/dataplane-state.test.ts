import assert from "node:assert/strict";
import { test } from "node:test";
import type { DataplaneRule, DataplaneWorkloadEndpoint, PolicyID, ToDataplane } from "@bulrush/proto";
import { DataplaneState } from "./dataplane-state.ts";

const POLICY: PolicyID = { kind: "GlobalNetworkPolicy", namespace: "", name: "p" };
const WORKLOAD = { orchestrator: "k8s", workload: "ns/w", endpoint: "eth0" };

const set = (...members: string[]): ToDataplane => ({ msg: "IPSetUpdate", id: "s:1", members, type: "NET" });
const dropSet: ToDataplane = { msg: "IPSetRemove", id: "s:1" };
const policy = (rule: Partial<DataplaneRule>): ToDataplane => ({
  msg: "ActivePolicyUpdate",
  id: POLICY,
  policy: {
    inbound_rules: [{ action: "allow", ip_version: "ANY", rule_id: "x", ...rule }],
    outbound_rules: [],
    untracked: false,
    pre_dnat: false,
    namespace: "",
    tier: "default",
    original_selector: "all()",
    perf_hints: [],
  },
});
const dropPolicy: ToDataplane = { msg: "ActivePolicyRemove", id: POLICY };
const profile: ToDataplane = {
  msg: "ActiveProfileUpdate",
  id: "prof",
  profile: { inbound_rules: [], outbound_rules: [] },
};
const dropProfile: ToDataplane = { msg: "ActiveProfileRemove", id: "prof" };
const workload = (value: Partial<DataplaneWorkloadEndpoint> = {}): ToDataplane => ({
  msg: "WorkloadEndpointUpdate",
  id: WORKLOAD,
  endpoint: {
    state: "active",
    name: "cali1",
    mac: "",
    profile_ids: ["prof"],
    ipv4_nets: ["10.0.0.1/32"],
    ipv6_nets: [],
    tiers: [{ name: "default", ingress_policies: [POLICY], egress_policies: [], default_action: "Deny" }],
    ipv4_nat: [],
    ipv6_nat: [],
    allow_spoofed_source_prefixes: [],
    annotations: new Map(),
    qos_policies: [],
    ...value,
  },
});
const dropWorkload: ToDataplane = { msg: "WorkloadEndpointRemove", id: WORKLOAD };
const delta = (added: string[], removed: string[]): ToDataplane => ({
  msg: "IPSetDeltaUpdate",
  id: "s:1",
  added_members: added,
  removed_members: removed,
});
const uses = { src_ip_set_ids: ["s:1"] };

function apply(...messages: readonly ToDataplane[]): DataplaneState {
  const state = new DataplaneState();
  for (const message of messages) state.apply(message);
  return state;
}

test("apply() takes messages in the order of the graph", () => {
  const whole = [set("10.0.0.0/24"), policy(uses), profile, workload()];
  const state = apply(...whole, { msg: "InSync" });
  assert.equal(state.inSync, true);
  assert.deepEqual([...state.policies.keys()], ["GlobalNetworkPolicy/p"]);
  assert.equal(state.endpointsOfWorkload("ns/w").length, 1);
  assert.equal(state.endpointsWithAddress("10.0.0.1").length, 1);
  state.apply(workload({ ipv4_nets: ["10.0.0.2/32"] }));
  assert.equal(state.endpointsWithAddress("10.0.0.1").length, 0);
  const empty = apply(...whole, dropWorkload, dropProfile, dropPolicy, dropSet);
  for (const map of [empty.workloadEndpoints, empty.profiles, empty.policies, empty.ipSets]) assert.equal(map.size, 0);
  assert.equal(empty.endpointsOfWorkload("ns/w").length, 0);
});

test("apply() refuses what breaks the guarantees", () => {
  const whole = [set(), policy(uses), profile, workload()];
  const rows: readonly [RegExp, readonly ToDataplane[]][] = [
    [/refers to IP set s:1/, [policy(uses)]],
    [/refers to IP set s:1/, [policy({ not_dst_named_port_ip_set_ids: ["s:1"] })]],
    [/lists policy/, [profile, workload()]],
    [/has profile prof/, [set(), policy(uses), workload()]],
    [/s:1 was removed while/, [...whole, dropSet]],
    [/was removed while an endpoint lists it/, [...whole, dropPolicy]],
    [/was removed while an endpoint has it/, [...whole, dropProfile]],
    [/which was not sent/, [dropSet]],
    [/which was not sent/, [dropWorkload]],
    [/which was not sent/, [dropPolicy]],
    [/which was not sent/, [{ msg: "RouteRemove", dst: "10.0.0.0/24" }]],
    [/which was not sent/, [delta(["10.0.0.1/32"], [])]],
    [/where it is already/, [set("10.0.0.1/32"), delta(["10.0.0.1/32"], [])]],
    [/where it is not/, [set(), delta([], ["10.0.0.1/32"])]],
    [/member twice/, [set("10.0.0.1/32", "10.0.0.1/32")]],
    [/sent twice/, [{ msg: "InSync" }, { msg: "InSync" }]],
  ];
  for (const [error, messages] of rows) assert.throws(() => apply(...messages), error);
  apply(...whole, policy({}), dropSet);
});

test("a full set replaces its members", () => {
  const state = apply(set("10.0.0.0/24", "10.0.1.1/32"), set("11.0.0.0/24"));
  assert.deepEqual([...(state.ipSets.get("s:1")?.members ?? [])], ["11.0.0.0/24"]);
});
