import assert from "node:assert/strict";
import { test } from "node:test";
import { DataplaneState } from "@bulrush/calc";
import type { TrackedFlow } from "@bulrush/dataplane";
import type { ToDataplane } from "@bulrush/proto";
import { stagedConnections } from "./staged-connections.ts";

const ENFORCED = { kind: "NetworkPolicy", namespace: "shop", name: "open" };
const STAGED = { kind: "StagedNetworkPolicy", namespace: "shop", name: "only-80" };
const ALLOW = { action: "allow", ip_version: "ANY" };
const ON_80 = { ...ALLOW, protocol: { name: "tcp" }, dst_ports: [{ first: 80, last: 80 }] };

/** A pod that everybody may reach, and may reach on port 80 only once the staged policy before that is enforced. */
function pod(): DataplaneState {
  const state = new DataplaneState();
  const policy = (id: object, inbound_rules: readonly object[]): object => {
    return { msg: "ActivePolicyUpdate", id, policy: { tier: "default", inbound_rules, outbound_rules: [] } };
  };
  const endpoint = {
    state: "active",
    name: "calia",
    profile_ids: [],
    ipv4_nets: ["10.0.0.9/32"],
    ipv6_nets: ["fd00::9/128"],
    tiers: [{ name: "default", ingress_policies: [STAGED, ENFORCED], egress_policies: [], default_action: "Deny" }],
  };
  const id = { orchestrator: "k8s", workload: "shop/db", endpoint: "eth0" };
  const messages = [
    policy(STAGED, [ON_80, { action: "deny", ip_version: "ANY" }]),
    policy(ENFORCED, [ALLOW]),
    { msg: "WorkloadEndpointUpdate", id, endpoint },
  ] as unknown as readonly ToDataplane[];
  for (const message of messages) state.apply(message);
  return state;
}

/** A connection from one address to another, answered by `backend`. */
function tracked(
  source: string,
  to: string,
  port: number,
  backend: string = to,
  backendPort: number = port,
): TrackedFlow {
  return {
    family: source.includes(":") ? 6 : 4,
    protocol: 6,
    original: { source, destination: to, sourcePort: 40_000, destinationPort: port },
    reply: { source: backend, destination: source, sourcePort: backendPort, destinationPort: 40_000 },
    status: 6,
    mark: 0,
    zone: 0,
  };
}

const breathe = (): Promise<void> => Promise.resolve();

test("stagedConnections() names what staged policies would end, as the backend of a service has it", async () => {
  const found = await stagedConnections(
    pod(),
    [
      tracked("10.0.0.1", "10.0.0.9", 80),
      tracked("10.0.0.1", "10.96.0.1", 80, "10.0.0.9", 5432),
      tracked("10.0.0.1", "10.0.0.9", 5432),
      tracked("fd00::1", "fd00::9", 22),
      tracked("10.0.0.1", "10.0.0.2", 5432),
    ],
    breathe,
  );
  const change = {
    protocol: 6,
    toPod: "shop/db",
    now: "allow",
    staged: "deny",
    by: "StagedNetworkPolicy/shop/only-80, rule 1",
  };
  assert.deepEqual(found, {
    judged: 3,
    left: 0,
    changes: [
      { ...change, from: "10.0.0.1", to: "10.0.0.9", port: 5432 },
      { ...change, from: "fd00::1", to: "fd00::9", port: 22 },
    ],
  });
});

test("stagedConnections() judges 10,000 connections, and counts the rest", async () => {
  let breaths = 0;
  const many = Array.from({ length: 10_005 }, (_, i) =>
    tracked(`10.1.${Math.floor(i / 250)}.${i % 250}`, "10.0.0.9", 80),
  );
  const { changes, judged, left } = await stagedConnections(pod(), many, () => Promise.resolve(void breaths++));
  assert.deepEqual([changes.length, judged, left], [0, 10_000, 5]);
  assert.ok(breaths >= 100);
});

test("stagedConnections() has no change where nothing is staged, nor for what is no flow to policy", async () => {
  const odd = {
    ...tracked("10.0.0.1", "10.0.0.9", 80),
    protocol: 1,
    original: { source: "10.0.0.1", destination: "10.0.0.9" },
    reply: { source: "10.0.0.9", destination: "10.0.0.1" },
  };
  const { changes, judged } = await stagedConnections(pod(), [odd], breathe);
  assert.equal(judged, 1);
  // A ping is no TCP: the staged policy would deny it.
  assert.deepEqual(
    changes.map(({ staged }) => staged),
    ["deny"],
  );
  assert.deepEqual((await stagedConnections(new DataplaneState(), [odd], breathe)).judged, 0);
});
