import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { CALICO_V3 } from "@bulrush/model";
import { eligiblePools } from "./eligible-pools.ts";
import { planTunnelAddress, type TunnelPlan } from "./plan-tunnel-address.ts";
import { TUNNEL_KINDS, tunnelAttributes, tunnelHandle, type TunnelKind } from "./tunnel-kind.ts";

interface Row {
  readonly row: string;
  readonly kind: TunnelKind;
  readonly pools: readonly object[];
  readonly address: string;
  readonly assignment?: { readonly handle: string; readonly attributes: Readonly<Record<string, string>> };
  readonly want: TunnelPlan;
}

const PATH = join(import.meta.dirname, "../../testdata/acceptance/tunnel-addresses.json");
const ROWS = JSON.parse(readFileSync(PATH, "utf8")) as readonly Row[];

describe("planTunnelAddress()", () => {
  for (const { row, kind, pools, address, assignment, want } of ROWS) {
    test(row, () => {
      const node = { apiVersion: CALICO_V3, kind: "Node", metadata: { name: "n1" } };
      const all = pools.map((spec, i) => ({
        apiVersion: CALICO_V3,
        kind: "IPPool",
        metadata: { name: `p${i}` },
        spec,
      }));
      const seen = assignment && {
        handle: assignment.handle,
        attributes: new Map(Object.entries(assignment.attributes)),
      };
      const eligible = eligiblePools(kind, node, all);
      assert.deepEqual(planTunnelAddress({ kind, node: "n1", pools: eligible, address, assignment: seen }), want);
    });
  }
});

test("planTunnelAddress() takes back what is under its own handle without attributes", () => {
  const assignment = { handle: "ipip-tunnel-addr-n1", attributes: new Map<string, string>() };
  const pools = [{ cidr: { family: 4, words: [0x0a000000], prefixLength: 16 } }] as const;
  const state = { kind: "ipip", node: "n1", pools, address: "10.0.0.1", assignment } as const;
  assert.deepEqual(planTunnelAddress(state), { action: "re-claim" });
});

test("handles and attributes of every device", () => {
  assert.deepEqual(
    TUNNEL_KINDS.map((kind) => [tunnelHandle(kind, "n1"), tunnelAttributes(kind, "n1")]),
    [
      ["wireguard-tunnel-addr-n1", { node: "n1", type: "wireguardTunnelAddress" }],
      ["wireguard-v6-tunnel-addr-n1", { node: "n1", type: "wireguardV6TunnelAddress" }],
      ["ipip-tunnel-addr-n1", { node: "n1", type: "ipipTunnelAddress" }],
      ["vxlan-tunnel-addr-n1", { node: "n1", type: "vxlanTunnelAddress" }],
      ["vxlan-v6-tunnel-addr-n1", { node: "n1", type: "vxlanV6TunnelAddress" }],
    ],
  );
});
