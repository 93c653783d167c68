import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rule, ServiceResource, WorkloadEndpoint } from "@bulrush/model";
import { labelMap, networkSet, policy, profileLabels, profileRules, tier, workload } from "../testing/fixtures.ts";
import { type KV, type State, update } from "../testing/harness.ts";
import { Explainer } from "./explainer.ts";
import type { FlowVerdict, Outcome, SideVerdict } from "./flow.ts";

const ALLOW: Rule = { action: "allow" };
const DENY: Rule = { action: "deny" };

function pod(name: string, value: Partial<WorkloadEndpoint>): KV {
  const { value: whole } = workload(name, value);
  const key = {
    type: "WorkloadEndpoint",
    hostname: "one",
    orchestrator: "k8s",
    workload: name,
    endpoint: "eth0",
  } as const;
  return { key, value: whole };
}

const PODS: State = [
  profileRules("open", [ALLOW], [ALLOW]),
  profileLabels("open", { "projectcalico.org/namespace": "shop", zone: "z1" }),
  pod("shop/web", { profile_ids: ["open"], ipv4_nets: ["10.0.0.1/32"], labels: labelMap({ app: "web" }) }),
  pod("shop/db", { profile_ids: ["open"], ipv4_nets: ["10.0.0.2/32"], labels: labelMap({ app: "db" }) }),
];

const onDb = (name: string, rules: readonly Rule[], value: object = {}, kind: "" | "Staged" = ""): KV =>
  policy(
    name,
    { selector: "app == 'db'", types: ["ingress"], inbound_rules: rules, ...value },
    `${kind}GlobalNetworkPolicy`,
  );

function explain(state: State, full = true): FlowVerdict {
  const explainer = new Explainer();
  explainer.update(state.map(({ key, value }) => update(key, value)));
  const flow = { source: { workload: "shop/web" }, destination: { workload: "shop/db" }, protocol: "tcp", port: 80 };
  return explainer.explain(flow, full);
}

function ingressOf(state: State): SideVerdict {
  const { ingress } = explain([...PODS, ...state]);
  assert.ok(ingress !== undefined);
  return ingress;
}

/** "verdict tier policy rule". */
function brief(outcome: Outcome | undefined): string | undefined {
  return outcome && [outcome.verdict, outcome.tier, outcome.policy, outcome.rule ?? "-"].join(" ");
}

test("Explainer says what would have matched next", () => {
  const rows: readonly (readonly [string, State, next: string | undefined])[] = [
    ["the next rule of the policy", [onDb("p", [ALLOW, DENY])], "deny default GlobalNetworkPolicy/p 1"],
    [
      "a rule of the next policy",
      [onDb("p", [DENY], { order: 1 }), onDb("q", [{ action: "log" }, ALLOW], { order: 2 })],
      "allow default GlobalNetworkPolicy/q 1",
    ],
    ["the end of the tier", [onDb("p", [ALLOW])], "deny default  -"],
    [
      "the next tier",
      [onDb("p", [DENY], { tier: "t1" }), onDb("q", [ALLOW]), tier("t1", { order: 1, defaultAction: "Pass" })],
      "allow default GlobalNetworkPolicy/q 0",
    ],
    ["behind the end of a tier: the profile", [onDb("p", [])], "allow  profile/open 0"],
    ["behind the profile: nothing but the end", [], "deny   -"],
  ];
  for (const [what, state, next] of rows) assert.equal(brief(ingressOf(state).next), next, what);
  const none = explain([
    pod("shop/web", { ipv4_nets: ["10.0.0.1/32"] }),
    pod("shop/db", { ipv4_nets: ["10.0.0.2/32"] }),
  ]);
  assert.deepEqual([none.ingress?.verdict, none.ingress?.next], ["deny", undefined], "behind the end is nothing");
});

test("Explainer says what would change if staged policies were enforced", () => {
  const rows: readonly (readonly [string, State, staged: string | undefined, verdict: string | undefined])[] = [
    ["none is staged", [onDb("p", [ALLOW])], undefined, undefined],
    ["a deny", [onDb("s", [DENY], {}, "Staged")], "deny default StagedGlobalNetworkPolicy/s 0", "deny"],
    [
      "an allow that changes nothing",
      [onDb("s", [ALLOW], {}, "Staged")],
      "allow default StagedGlobalNetworkPolicy/s 0",
      "allow",
    ],
    ["an empty one ends its tier", [onDb("s", [], {}, "Staged")], "deny default  -", "deny"],
    [
      "in its place by order",
      [onDb("p", [ALLOW], { order: 1 }), onDb("s", [DENY], { order: 2 }, "Staged")],
      "allow default GlobalNetworkPolicy/p 0",
      "allow",
    ],
    [
      "it takes the place of the policy of its name",
      [onDb("p", [ALLOW], { order: 1 }), onDb("p", [DENY], { order: 2 }, "Staged")],
      "deny default StagedGlobalNetworkPolicy/p 0",
      "deny",
    ],
    [
      "and takes it away from endpoints that it does not select",
      [onDb("p", [DENY]), onDb("p", [], { selector: "app == 'other'" }, "Staged")],
      "allow  profile/open 0",
      "allow",
    ],
    [
      "a staged deletion",
      [onDb("p", [DENY]), onDb("p", [], { staged_action: "Delete" }, "Staged")],
      "allow  profile/open 0",
      "allow",
    ],
  ];
  for (const [what, state, staged, verdict] of rows) {
    const said = explain([...PODS, ...state]);
    assert.deepEqual([brief(said.ingress?.staged), said.staged], [staged, verdict], what);
  }
});

test("Explainer names the terms of a rule's selector that fail, and who has the address", () => {
  const why = (rule: Rule, more: State = []): string | undefined =>
    ingressOf([onDb("p", [rule]), ...more]).steps[0]?.why;
  assert.equal(
    why({ src_selector: "app == 'api' && zone == 'z1'" }),
    'source 10.0.0.1 is not in the set of (app == "api" && zone == "z1") (shop/web: app == "api" does not hold: app is "web")',
  );
  assert.equal(
    why({ "!src_selector": "zone == 'z1'" }),
    'source 10.0.0.1 is in the set of zone == "z1", which is excluded (shop/web: the selector holds)',
  );
  assert.match(why({ dst_ports: ["http"] }) ?? "", /\(shop\/db: the selector holds\)$/);
  const net = networkSet("lan", ["10.0.0.0/24"], { role: "lan" });
  assert.match(
    why({ src_selector: "role == 'wan'" }, [net]) ?? "",
    /\(shop\/web: role == "wan" does not hold: role is missing, network set lan: role == "wan" does not hold: role is "lan"\)$/,
  );
});

test("Explainer says why other policies do not apply", () => {
  const { unselected } = ingressOf([
    policy("far", { selector: "app == 'api'", types: ["ingress"] }),
    policy("out", { selector: "app == 'api'", types: ["egress"] }),
    policy("applies", { selector: "app == 'db'", types: ["ingress"], inbound_rules: [ALLOW] }),
    policy("near", { selector: "app == 'db' && zone == 'z2'", order: 1 }, "NetworkPolicy", "shop"),
    policy("elsewhere", { selector: "app == 'x'" }, "NetworkPolicy", "other"),
    policy("raw", { selector: "app == 'x'", untracked: true }),
    policy("staged", { selector: "app == 'x'" }, "StagedGlobalNetworkPolicy"),
  ]);
  assert.deepEqual(unselected, [
    { tier: "default", policy: "NetworkPolicy/shop/near", why: 'zone == "z2" does not hold: zone is "z1"' },
    { tier: "default", policy: "GlobalNetworkPolicy/far", why: 'app == "api" does not hold: app is "db"' },
  ]);
});

test("Explainer leaves out what staged policies would delete", () => {
  const explainer = new Explainer({ deletedByStaged: new Set(["GlobalNetworkPolicy/p"]) });
  explainer.update([...PODS, onDb("p", [DENY]), onDb("q", [ALLOW])].map(({ key, value }) => update(key, value)));
  const flow = { source: { workload: "shop/web" }, destination: { workload: "shop/db" }, protocol: "tcp", port: 80 };
  const verdict = explainer.explain(flow, true);
  assert.equal(verdict.verdict, "deny");
  assert.equal(verdict.staged, "allow");
  assert.equal(brief(verdict.ingress?.staged), "allow default GlobalNetworkPolicy/q 0");
  assert.equal(verdict.egress?.staged, undefined);
});

test("Explainer names at most 50 policies that do not apply", () => {
  const many = Array.from({ length: 60 }, (_, i) => policy(`p${i}`, { selector: "app == 'x'" }));
  assert.equal(ingressOf(many).unselected?.length, 50);
});

test("Explainer follows changes and deletes", () => {
  const explainer = new Explainer();
  const flow = { source: { workload: "shop/web" }, destination: { workload: "shop/db" }, protocol: "tcp", port: 80 };
  const closed = onDb("p", [DENY]);
  explainer.update(PODS.map(({ key, value }) => update(key, value)));
  assert.equal(explainer.explain(flow).verdict, "allow");
  explainer.update([update(closed.key, closed.value)]);
  assert.equal(explainer.explain(flow).verdict, "deny");
  explainer.update([update(closed.key, undefined)]);
  assert.deepEqual(explainer.explain(flow, true).ingress?.unselected, undefined);
  assert.equal(explainer.explain(flow).verdict, "allow");
});

test("Explainer says that policy does not see the address of a service", () => {
  const service: ServiceResource = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "db", namespace: "shop" },
    spec: { clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.1"], ports: [] },
  };
  const explainer = new Explainer();
  const key = { type: "Resource", kind: "KubernetesService", namespace: "shop", name: "db" } as const;
  explainer.update([...PODS, { key, value: service }].map((kv) => update(kv.key, kv.value)));
  const flow = { source: { workload: "shop/web" }, destination: { address: "10.96.0.1" }, protocol: "tcp", port: 80 };
  assert.deepEqual(explainer.explain(flow).notes, [
    "10.96.0.1 is an address of service shop/db: policy sees the backend that is chosen for the connection",
  ]);
});

test("Explainer without `full` reads no other policies", () => {
  const { ingress } = explain([...PODS, onDb("p", [ALLOW]), policy("far", { selector: "app == 'api'" })], false);
  assert.deepEqual(Object.keys(ingress ?? {}).sort(), ["policy", "rule", "steps", "tier", "verdict", "why"]);
});
