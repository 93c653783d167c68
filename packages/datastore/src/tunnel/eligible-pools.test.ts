import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CALICO_V3, type NodeResource } from "@bulrush/model";
import { eligiblePools, type EligibilityOptions } from "./eligible-pools.ts";
import type { TunnelKind } from "./tunnel-kind.ts";

const NODE: NodeResource = {
  apiVersion: CALICO_V3,
  kind: "Node",
  metadata: { name: "n1", labels: { rack: "a" } },
  status: { wireguardPublicKey: "key" },
};

function names(
  kind: TunnelKind,
  pools: Readonly<Record<string, unknown>>,
  { node = NODE, ...options }: EligibilityOptions & { readonly node?: NodeResource } = {},
): readonly string[] {
  const all = Object.entries(pools).map(([name, spec]) => ({
    apiVersion: CALICO_V3,
    kind: "IPPool",
    metadata: { name },
    spec,
  }));
  return eligiblePools(kind, node, all, options).map((pool) => pool.name);
}

const VXLAN = { cidr: "10.0.0.0/16", vxlanMode: "Always" };

describe("eligiblePools() takes", () => {
  const ROWS: readonly (readonly [title: string, spec: unknown, isEligible: boolean])[] = [
    ["a pool without allowedUses", VXLAN, true],
    ["an empty allowedUses", { ...VXLAN, allowedUses: [] }, true],
    ["Tunnel among others", { ...VXLAN, allowedUses: ["Workload", "Tunnel"] }, true],
    ["not: only Workload", { ...VXLAN, allowedUses: ["Workload"] }, false],
    ["CrossSubnet", { ...VXLAN, vxlanMode: "CrossSubnet" }, true],
    ["not: Never", { ...VXLAN, vxlanMode: "Never" }, false],
    ["not: no mode", { cidr: "10.0.0.0/16" }, false],
    ["not: the mode of the other device", { cidr: "10.0.0.0/16", ipipMode: "Always" }, false],
    ["not: the other family", { ...VXLAN, cidr: "fd00::/64" }, false],
    ["not: disabled", { ...VXLAN, disabled: true }, false],
    ["a node selector that matches", { ...VXLAN, nodeSelector: "rack == 'a'" }, true],
    ["all()", { ...VXLAN, nodeSelector: "all()" }, true],
    ["not: a node selector that does not match", { ...VXLAN, nodeSelector: "rack == 'b'" }, false],
    ["not: a node selector that cannot be read", { ...VXLAN, nodeSelector: "rack ==" }, false],
    ["not: a node selector that is no text", { ...VXLAN, nodeSelector: 5 }, false],
    ["not: a network that cannot be read", { ...VXLAN, cidr: "10.0.0.0/99" }, false],
    ["not: a block larger than the pool", { ...VXLAN, cidr: "10.0.0.0/28", blockSize: 26 }, false],
    ["not: no spec", undefined, false],
  ];
  for (const [title, spec, isEligible] of ROWS)
    test(title, () => assert.deepEqual(names("vxlan", { p: spec }), isEligible ? ["p"] : []));
});

test("eligiblePools() leaves out a pool that is being deleted, and sorts by name", () => {
  const pool = (name: string, more: object = {}) => ({
    apiVersion: CALICO_V3,
    kind: "IPPool",
    metadata: { name, ...more },
    spec: VXLAN,
  });
  const pools = [pool("c"), pool("a"), pool("b", { deletionTimestamp: "2026-01-01T00:00:00Z" })];
  assert.deepEqual(
    eligiblePools("vxlan", NODE, pools).map(({ name }) => name),
    ["a", "c"],
  );
});

test("eligiblePools() gives WireGuard any pool, if the node has a key of the family and hosts are not encrypted", () => {
  const pools = { v4: { cidr: "10.0.0.0/16" }, v6: { cidr: "fd00::/64" } };
  assert.deepEqual(names("wireguard", pools), ["v4"]);
  assert.deepEqual(names("wireguardV6", pools), []);
  assert.deepEqual(names("wireguardV6", pools, { node: { ...NODE, status: { wireguardPublicKeyV6: "k" } } }), ["v6"]);
  assert.deepEqual(names("wireguard", pools, { wireguardHostEncryption: true }), []);
});
