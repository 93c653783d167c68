import assert from "node:assert/strict";
import { test } from "node:test";
import type { Policy, Resource } from "@bulrush/model";
import { labelMap, policy, profileRules, tier, workload } from "../testing/fixtures.ts";
import { type KV, Rig, update } from "../testing/harness.ts";

const BASE: Policy = {
  tier: "t",
  order: 1,
  selector: "app == 'a'",
  types: ["ingress"],
  inbound_rules: [{ action: "allow" }],
  outbound_rules: [],
};
const TIER = tier("t", { order: 1 });
const POD = workload("w", { labels: labelMap({ app: "a" }), profile_ids: ["prof"] });
const OTHER = policy("other", { selector: "app == 'nobody'" });
const PROFILE = profileRules("prof");
const START: readonly KV[] = [TIER, POD, OTHER, PROFILE, policy("p", BASE)];

/** Names of the messages that the change makes. */
function change(...next: readonly KV[]): string[] {
  const rig = new Rig();
  rig.inSync();
  rig.go(START);
  rig.flush();
  rig.go(next);
  rig.flush();
  return rig.messages.map((message) => message.msg);
}

const rest = [TIER, POD, OTHER, PROFILE];

test("an endpoint is sent again when its lists change, and only then", () => {
  const rows: readonly [string, readonly KV[], readonly string[]][] = [
    ["nothing", START, []],
    ["rules", [...rest, policy("p", { ...BASE, inbound_rules: [] })], ["ActivePolicyUpdate"]],
    ["order alone, with no other policy", [...rest, policy("p", { ...BASE, order: 2 })], []],
    ["types", [...rest, policy("p", { ...BASE, types: [] })], ["WorkloadEndpointUpdate"]],
    ["flags", [...rest, policy("p", { ...BASE, untracked: true })], ["ActivePolicyUpdate", "WorkloadEndpointUpdate"]],
    ["tier", [...rest, policy("p", { ...BASE, tier: "x" })], ["ActivePolicyUpdate", "WorkloadEndpointUpdate"]],
    ["selector, same endpoints", [...rest, policy("p", { ...BASE, selector: "has(app)" })], ["ActivePolicyUpdate"]],
    ["spelling of the selector", [...rest, policy("p", { ...BASE, selector: "app=='a'" })], []],
    ["the policy goes", rest, ["WorkloadEndpointUpdate", "ActivePolicyRemove"]],
    ["a policy that matches nothing here goes", START.filter((kv) => kv !== OTHER), []],
    ["one more policy", [...START, policy("q", BASE)], ["ActivePolicyUpdate", "WorkloadEndpointUpdate"]],
    [
      "the tier's default",
      [...START.slice(1), tier("t", { order: 1, defaultAction: "Pass" })],
      ["WorkloadEndpointUpdate"],
    ],
    ["the tier's order, with no other tier", [...START.slice(1), tier("t", { order: 2 })], []],
    ["another tier", [...START, tier("unused", { order: 0 })], []],
    ["the tier goes", START.slice(1), ["WorkloadEndpointUpdate"]],
    [
      "the endpoint's labels, same policies",
      [
        ...START.filter((kv) => kv !== POD),
        workload("w", {
          labels: labelMap({ app: "a", b: "c" }),
          profile_ids: ["prof"],
        }),
      ],
      ["WorkloadEndpointUpdate"],
    ],
    [
      "the profile's rules",
      [...START.filter((kv) => kv !== PROFILE), profileRules("prof", [{ action: "allow" }])],
      ["ActiveProfileUpdate"],
    ],
    [
      "the endpoint goes",
      START.filter((kv) => kv !== POD),
      ["WorkloadEndpointRemove", "ActiveProfileRemove", "ActivePolicyRemove"],
    ],
  ];
  for (const [what, next, expected] of rows) assert.deepEqual(change(...next), expected, what);
});

test("a policy that moves from one local endpoint to another between two flushes does not flap", () => {
  const pod = (name: string, app: string): KV => workload(name, { labels: labelMap({ app }) });
  const set = { inbound_rules: [{ src_selector: "has(app)" }] };
  const rig = new Rig();
  rig.inSync();
  rig.go([policy("p", { ...BASE, ...set }), pod("w1", "a"), pod("w2", "b")]);
  rig.flush();
  rig.go([policy("p", { ...BASE, ...set, selector: "app == 'b'" }), pod("w1", "a"), pod("w2", "b")]);
  rig.flush();
  assert.deepEqual(
    rig.messages.map((message) => message.msg),
    ["ActivePolicyUpdate", "WorkloadEndpointUpdate", "WorkloadEndpointUpdate"],
  );
});

test("endpoints wait for in-sync, and one that was never sent is not removed", () => {
  const sent = (rig: Rig): string[] =>
    rig.messages.map((message) => message.msg).filter((msg) => msg.startsWith("WorkloadEndpoint"));
  const rig = new Rig();
  rig.go(START);
  rig.flush();
  assert.deepEqual(sent(rig), [], "a match before in-sync");
  rig.inSync();
  rig.flush();
  assert.deepEqual(sent(rig), ["WorkloadEndpointUpdate"]);
  rig.flush();
  assert.deepEqual(sent(rig), []);
  rig.go([...START, workload("v", { labels: labelMap({ app: "a" }), profile_ids: ["prof"] })]);
  rig.go(START);
  rig.flush();
  assert.deepEqual(sent(rig), [], "one that came, matched and went between two flushes");
  rig.go([]);
  rig.flush();
  assert.deepEqual(sent(rig), ["WorkloadEndpointRemove"]);
  rig.graph.onUpdates([update(POD.key, undefined), update(POD.key, undefined)]);
  rig.flush();
  assert.deepEqual(rig.messages, [], "deletes of what is not there");
});

test("data that comes, goes and is not there is sent once each", () => {
  const key = { type: "Resource", kind: "BGPPeer", namespace: "", name: "peer" } as const;
  const value: Resource = {
    apiVersion: "projectcalico.org/v3",
    kind: "BGPPeer",
    metadata: { name: "peer" },
    spec: { localWorkloadSelector: "app == 'a'" },
  };
  const rig = new Rig();
  rig.inSync();
  rig.go(START);
  rig.flush();
  const after = (next: Resource | undefined): unknown => {
    rig.graph.onUpdates([update(key, next)]);
    rig.flush();
    return rig.messages.map((message) =>
      message.msg === "WorkloadEndpointUpdate"
        ? (message.endpoint.local_bgp_peer?.bgp_peer_name ?? "none")
        : message.msg,
    );
  };
  assert.deepEqual(after(value), ["peer"]);
  assert.deepEqual(after(structuredClone(value)), [], "the same again");
  assert.deepEqual(after(undefined), ["none"]);
  assert.deepEqual(after(undefined), [], "gone again");
  assert.deepEqual(after({ ...value, spec: { localWorkloadSelector: "app == 'b'" } }), [], "for nobody here");
});

test("lists are made anew when a policy moved while no endpoint here had them", () => {
  const orders = (p: number, q: number): KV[] => [
    policy("p", { ...BASE, order: p }),
    policy("q", { ...BASE, order: q }),
  ];
  const rig = new Rig();
  rig.inSync();
  rig.go([TIER, POD, ...orders(1, 2)]);
  rig.flush();
  rig.go([TIER, ...orders(1, 2)]);
  rig.flush();
  rig.go([TIER, ...orders(2, 1)]);
  rig.flush();
  rig.go([TIER, POD, ...orders(2, 1)]);
  rig.flush();
  const listed = rig.messages.flatMap((message) =>
    message.msg === "WorkloadEndpointUpdate"
      ? message.endpoint.tiers.flatMap(({ ingress_policies }) => ingress_policies.map(({ name }) => name))
      : [],
  );
  assert.deepEqual(listed, ["q", "p"]);
});
