import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServiceResource } from "@bulrush/model";
import { hostEndpoint, networkSet, policy, profileRules, tier, workload } from "../testing/fixtures.ts";
import { HOST, type KV, Rig, type State, update } from "../testing/harness.ts";
import { LookupCaches } from "./lookup-caches.ts";
import { type RuleHit, rulePrefix } from "./rule-prefix.ts";

function cachesOf(state: State, nowMs = 0): LookupCaches {
  const caches = new LookupCaches();
  caches.onUpdates(
    state.map(({ key, value }) => update(key, value)),
    nowMs,
  );
  return caches;
}

function nameOf(caches: LookupCaches, address: string): string | undefined {
  const key = caches.endpoint(address)?.key;
  return key?.type === "WorkloadEndpoint" ? key.workload : key?.endpoint;
}

const A = workload("a", { ipv4_nets: ["10.0.0.1/32", "10.0.0.2/32"], ipv6_nets: ["fd00::1/128"] });
const B = workload("b", { ipv4_nets: ["10.0.0.2/32"] });

test("endpoint() finds who has an address; of several the latest", () => {
  const caches = cachesOf([A, hostEndpoint("eth0", { expected_ipv4_addrs: ["192.168.0.1"] })]);
  assert.deepEqual(
    ["10.0.0.1", "10.0.0.2", "FD00:0::1", "192.168.0.1", "10.0.0.9", "no address"].map((text) => nameOf(caches, text)),
    ["a", "a", "a", "eth0", undefined, undefined],
  );
  caches.onUpdates([update(B.key, B.value)], 0);
  assert.equal(nameOf(caches, "10.0.0.2"), "b");
  caches.onUpdates([update(A.key, A.value)], 0);
  assert.equal(nameOf(caches, "10.0.0.2"), "b", "being told again is not getting it again");
  assert.equal(caches.counts.endpoints, 3);
});

test("endpoint() knows an endpoint for ten seconds after it has gone", () => {
  const caches = cachesOf([A, B]);
  caches.onUpdates([update(B.key, undefined)], 1000);
  caches.expire(10_999);
  assert.equal(nameOf(caches, "10.0.0.2"), "b");
  assert.equal(caches.counts.endpoints, 1, "it is not counted any more");
  caches.expire(11_000);
  assert.equal(nameOf(caches, "10.0.0.2"), "a", "then who had it before, and still has it");
  const moved = workload("a", { ipv4_nets: ["10.0.0.1/32"] });
  caches.onUpdates([update(moved.key, moved.value)], 20_000);
  caches.expire(30_000);
  assert.equal(nameOf(caches, "10.0.0.2"), undefined, "an address that it gave up is forgotten likewise");
  assert.equal(nameOf(caches, "10.0.0.1"), "a");
});

test("endpoint() keeps an endpoint that came back within the ten seconds, as the latest", () => {
  const caches = cachesOf([A, B]);
  caches.onUpdates([update(A.key, undefined)], 1000);
  caches.onUpdates([update(A.key, A.value)], 2000);
  caches.expire(60_000);
  assert.equal(nameOf(caches, "10.0.0.2"), "a");
});

test("networkSet() prefers a namespace, then global sets, then the longest prefix, then the name", () => {
  const caches = cachesOf([
    networkSet("all", ["10.0.0.0/8"], {}),
    networkSet("b", ["10.1.0.0/16"], {}),
    networkSet("a", ["10.1.2.3/16", "10.1.0.0/16"], {}),
    networkSet("ns/wide", ["10.0.0.0/8"], {}),
    networkSet("ns/near", ["10.1.1.0/24"], {}),
    networkSet("other/exact", ["10.1.1.1/32", "11.0.0.1"], {}),
    networkSet("six", ["fd00::/64"], {}),
  ]);
  const rows: readonly (readonly [address: string, namespace: string | undefined, name: string | undefined])[] = [
    ["10.1.1.1", "ns", "ns/near"],
    ["10.2.0.1", "ns", "ns/wide"],
    ["10.1.1.1", undefined, "a"],
    ["10.1.1.1", "", "a"],
    ["10.2.0.1", "elsewhere", "all"],
    ["10.1.1.1", "other", "other/exact"],
    ["11.0.0.1", undefined, "other/exact"],
    ["fd00::9", "ns", "six"],
    ["12.0.0.1", "ns", undefined],
  ];
  for (const [address, namespace, name] of rows)
    assert.equal(caches.networkSet(address, namespace)?.name, name, `${address} ${namespace}`);
  caches.onUpdates([update({ type: "NetworkSet", name: "a" }, undefined)], 0);
  assert.equal(caches.networkSet("10.1.1.1")?.name, "b");
  assert.equal(caches.counts.networkSets, 6);
});

function service(name: string, spec: ServiceResource["spec"], ingress: readonly string[] = []): KV {
  const value: ServiceResource = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "ns" },
    ...(spec && { spec }),
    status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
  };
  return { key: { type: "Resource", kind: "KubernetesService", namespace: "ns", name }, value };
}

test("service() finds a service by any of its addresses, its ports and protocols, and by node ports", () => {
  const ports = [
    { name: "http", port: 80, nodePort: 30_080 },
    { name: "dns", port: 53, protocol: "UDP" },
  ];
  const web = service(
    "web",
    { clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.1", "fd01::1"], externalIPs: ["172.16.0.1"], ports },
    ["172.16.0.2"],
  );
  const caches = cachesOf([web, service("headless", { clusterIP: "None", ports })]);
  const found = (address: string, port: number, protocol: string): string | undefined => {
    const one = caches.service(address, port, protocol);
    return one && `${one.namespace}/${one.name} ${one.port}`;
  };
  for (const address of ["10.96.0.1", "fd01::1", "172.16.0.1", "172.16.0.2"])
    assert.equal(found(address, 80, "tcp"), "ns/web http", address);
  assert.equal(found("10.96.0.1", 53, "udp"), "ns/web dns");
  assert.deepEqual([found("10.96.0.1", 53, "tcp"), found("10.96.0.2", 80, "tcp")], [undefined, undefined]);
  assert.equal(caches.serviceOfNodePort(30_080, "tcp")?.name, "headless", "of two that claim it the first by name");
  caches.onUpdates([update(service("headless", undefined).key, undefined)], 0);
  assert.equal(caches.serviceOfNodePort(30_080, "tcp")?.name, "web");
  caches.onUpdates([update(web.key, undefined)], 0);
  assert.deepEqual([found("10.96.0.1", 80, "tcp"), caches.counts.services], [undefined, 0]);
});

const GNP = { kind: "GlobalNetworkPolicy", namespace: "", name: "p" } as const;

test("rulePrefix() names action, owner, direction, index and whose rule it is", () => {
  const rule = (more: object): RuleHit =>
    ({
      what: "rule",
      direction: "ingress",
      action: "allow",
      index: 0,
      owner: GNP,
      tier: "default",
      ...more,
    }) as RuleHit;
  const rows: readonly (readonly [RuleHit, string])[] = [
    [rule({}), "API0|gnp/p"],
    [rule({ direction: "egress", action: "deny", index: 12 }), "DPE12|gnp/p"],
    [rule({ action: "pass", owner: { kind: "NetworkPolicy", namespace: "n", name: "p" } }), "PPI0|np/n/p"],
    [rule({ owner: { kind: "KubernetesNetworkPolicy", namespace: "n", name: "p" } }), "API0|knp/n/p"],
    [rule({ owner: { ...GNP, kind: "KubernetesClusterNetworkPolicy" } }), "API0|kcnp/p"],
    [rule({ owner: { kind: "StagedNetworkPolicy", namespace: "n", name: "p" } }), "API0|snp/n/p"],
    [rule({ owner: { ...GNP, kind: "StagedGlobalNetworkPolicy" } }), "API0|sgnp/p"],
    [rule({ owner: { kind: "StagedKubernetesNetworkPolicy", namespace: "n", name: "p" } }), "API0|sknp/n/p"],
    [rule({ owner: "kns.shop", action: "deny", direction: "egress", index: 1 }), "DRE1|pro/kns.shop"],
    [{ what: "tier-end", direction: "ingress", action: "deny", tier: "t" }, "DPI|t"],
    [{ what: "tier-end", direction: "egress", action: "pass", tier: "t" }, "PPE|t"],
    [{ what: "no-profile-matched", direction: "ingress", action: "deny" }, "DRI"],
    [{ what: "no-profile-matched", direction: "egress", action: "deny" }, "DRE"],
  ];
  for (const [hit, prefix] of rows) assert.equal(rulePrefix(hit), prefix);
});

test("rulePrefix() keeps what is too long for the kernel apart by a hash", () => {
  const named = (name: string): string =>
    rulePrefix({
      what: "rule",
      direction: "ingress",
      action: "deny",
      index: 3,
      owner: { ...GNP, name },
      tier: "default",
    });
  // DPI3|gnp/ is nine characters; up to 62 stay as they are.
  assert.equal(named("x".repeat(53)), `DPI3|gnp/${"x".repeat(53)}`);
  const long = named("x".repeat(54));
  assert.match(long, /^DPI3\|_[A-Za-z0-9_-]{38}$/);
  assert.notEqual(named("x".repeat(55)), long);
});

test("rule() finds what a log line is of, as policies and tiers come and go", () => {
  const rig = new Rig(HOST);
  const caches = new LookupCaches();
  rig.inSync();
  const go = (state: State): void => {
    rig.go(state);
    rig.flush();
    for (const message of rig.messages) caches.onMessage(message);
  };
  const p = policy("p", {
    tier: "t",
    inbound_rules: [{ action: "log" }, { action: "deny" }],
    outbound_rules: [{ action: "next-tier" }],
  });
  const base = [tier("t"), profileRules("prof", [{ action: "allow" }]), workload("w", { profile_ids: ["prof"] })];
  go([...base, p]);
  assert.deepEqual(caches.rule("DPI1|gnp/p"), {
    what: "rule",
    direction: "ingress",
    action: "deny",
    index: 1,
    owner: GNP,
    tier: "t",
  });
  assert.equal(caches.rule("PPE0|gnp/p")?.action, "pass");
  assert.deepEqual(caches.rule("ARI0|pro/prof"), {
    what: "rule",
    direction: "ingress",
    action: "allow",
    index: 0,
    owner: "prof",
    tier: "",
  });
  const ends = ["DPI|t", "DPE|t", "PPI|t", "PPE|t"];
  assert.ok(ends.every((prefix) => caches.rule(prefix)?.what === "tier-end"));
  assert.equal(caches.rule("DRI")?.what, "no-profile-matched");
  assert.equal(caches.counts.policies, 2);
  // Many updates of the endpoint count its tier once: with the last policy of the tier all of its prefixes go.
  for (const state of ["active", "inactive", "active"])
    go([...base.slice(0, 2), workload("w", { state, profile_ids: ["prof"] }), p]);
  go([...base, policy("p", { tier: "t", inbound_rules: [{ action: "allow" }] })]);
  assert.equal(caches.rule("DPI1|gnp/p"), undefined, "the rule has gone");
  assert.equal(caches.rule("API0|gnp/p")?.action, "allow");
  go(base);
  assert.deepEqual(
    [...ends, "API0|gnp/p"].filter((prefix) => caches.rule(prefix) !== undefined),
    [],
  );
  go([]);
  assert.deepEqual([caches.rule("ARI0|pro/prof"), caches.counts.policies], [undefined, 0]);
});
