import assert from "node:assert/strict";
import { test } from "node:test";
import type { KV } from "@bulrush/proto";
import { LoadedGraph } from "./loaded-graph.ts";
import type { ListedPolicy } from "./policy-list.ts";

function kv(path: string, value: unknown): KV {
  return { path, value, revision: "1", updateType: "new" };
}

const labels = (app: string): ReadonlyMap<string, string> =>
  new Map([
    ["app", app],
    ["projectcalico.org/namespace", "shop"],
  ]);

function pod(name: string, address: string): KV {
  return kv(`/calico/v1/host/node-1/workload/k8s/shop%2F${name}/endpoint/eth0`, {
    state: "active",
    name: `cali${name}`,
    profile_ids: [],
    ipv4_nets: [`${address}/32`],
    ipv6_nets: [],
    labels: labels(name),
  });
}

function policy(name: string, over: object): KV {
  return kv(`/calico/v1/policy/GlobalNetworkPolicy//${name}`, {
    tier: "default",
    inbound_rules: [],
    outbound_rules: [],
    selector: "all()",
    types: ["ingress"],
    ...over,
  });
}

function loaded(kvs: readonly KV[]): {
  readonly graph: LoadedGraph;
  readonly snapshot: ReturnType<LoadedGraph["finish"]>;
} {
  const graph = new LoadedGraph();
  graph.take({ type: "snapshot", kvs });
  graph.take({ type: "snapshot-end", sequence: 9, count: kvs.length });
  graph.take({ type: "status", sequence: 9, status: "in-sync" });
  return { graph, snapshot: graph.finish("e", 5) };
}

const KVS: readonly KV[] = [
  pod("web", "10.0.0.1"),
  pod("db", "10.0.0.2"),
  kv("/calico/v1/policy/tier/first/metadata", { order: 10, defaultAction: "Pass" }),
  kv("/calico/v1/policy/tier/default/metadata", { order: 1000, defaultAction: "Deny" }),
  policy("b-late", { order: 20, inbound_rules: [{ action: "deny" }] }),
  policy("a-none", { selector: "app == 'nobody'" }),
  policy("db-from-web", {
    order: 10,
    selector: "app == 'db'",
    inbound_rules: [{ action: "allow", protocol: "tcp", src_selector: "app == 'web'", dst_ports: [5432] }],
  }),
  policy("watch", {
    tier: "first",
    apply_on_forward: true,
    types: ["egress"],
    outbound_rules: [{ action: "allow" }],
  }),
  kv("/calico/v1/something/new", {}),
];

test("the tiers and their policies stand in the order of evaluation, with what they apply to", () => {
  const { snapshot } = loaded(KVS);
  assert.deepEqual([snapshot.epoch, snapshot.sequence, snapshot.status, snapshot.atMs], ["e", 9, "in-sync", 5]);
  assert.deepEqual([snapshot.keys, snapshot.unknownKeys, snapshot.ends], [8, 1, ["shop/db", "shop/web"]]);
  assert.deepEqual(
    snapshot.tiers.map(({ name, order, defaultAction, policies }) => [
      name,
      order,
      defaultAction,
      policies.map(({ id }) => id),
    ]),
    [
      ["first", 10, "Pass", ["GlobalNetworkPolicy/watch"]],
      [
        "default",
        1000,
        "Deny",
        ["GlobalNetworkPolicy/db-from-web", "GlobalNetworkPolicy/b-late", "GlobalNetworkPolicy/a-none"],
      ],
    ],
  );
  const byId = new Map(snapshot.tiers.flatMap(({ policies }) => policies).map((item) => [item.id, item]));
  const item = (name: string): ListedPolicy | undefined => byId.get(`GlobalNetworkPolicy/${name}`);
  assert.deepEqual([item("db-from-web")?.endpoints, item("db-from-web")?.examples], [1, ["shop/db"]]);
  assert.deepEqual(item("db-from-web")?.ingress, ["allow tcp from app == 'web' to port 5432"]);
  assert.equal(item("db-from-web")?.egress, null);
  assert.deepEqual([item("a-none")?.endpoints, item("b-late")?.endpoints], [0, 2]);
  assert.deepEqual(
    [item("watch")?.traits, item("watch")?.ingress, item("watch")?.egress],
    [["applyOnForward"], null, ["allow"]],
  );
});

test("a flow is explained on the snapshot, and what cannot be asked is named", () => {
  const { graph } = loaded(KVS);
  const ask = (from: string, to: string, port: string, protocol = "TCP"): ReturnType<LoadedGraph["explain"]> =>
    graph.explain({ from, to, protocol, port });
  const verdicts = (answer: ReturnType<LoadedGraph["explain"]>): unknown =>
    answer.ok && answer.answers.map(({ verdict: { verdict, ingress } }) => [verdict, ingress?.policy, ingress?.rule]);
  const byRule = [["allow", "GlobalNetworkPolicy/db-from-web", 0]];
  assert.deepEqual(verdicts(ask("shop/web", " shop/db ", "5432")), byRule);
  assert.deepEqual(verdicts(ask("shop/web", "shop/db", "80")), [["deny", "GlobalNetworkPolicy/b-late", 0]]);
  const rows: readonly (readonly [ReturnType<LoadedGraph["explain"]>, RegExp])[] = [
    [ask("", "shop/db", "1"), /^No "from" in the flow/],
    [ask("shop/web", "shop/cache", "1"), /^Unknown pod "shop\/cache"/],
    [ask("shop/web", "db", "1"), /neither namespace\/pod nor an address/],
    [ask("shop/web", "shop/db", "70000"), /^Bad port "70000"/],
    [ask("shop/web", "service:shop/db", "80"), /^Unknown service "shop\/db"$/],
    [ask("shop/web", "shop/db", ""), /needs a port/],
    [ask("shop/web", "shop/db", "1", "carrier-pigeon"), /^Unknown protocol "carrier-pigeon"/],
  ];
  for (const [answer, problem] of rows) {
    assert.ok(!answer.ok);
    assert.match(answer.problem, problem);
  }
  assert.ok(ask("shop/web", "8.8.8.8", "", "icmp").ok, "icmp has no port");
  assert.ok(ask("shop/web", "8.8.8.8", "443", "icmp").ok, "one that is typed says nothing");
});
