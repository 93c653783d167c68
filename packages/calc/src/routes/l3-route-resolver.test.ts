import assert from "node:assert/strict";
import { test } from "node:test";
import type { Block, IPPool, NodeResource } from "@bulrush/model";
import { EventSequencer } from "../sequencer/event-sequencer.ts";
import { L3RouteResolver } from "./l3-route-resolver.ts";

const NODE: NodeResource = {
  apiVersion: "projectcalico.org/v3",
  kind: "Node",
  metadata: { name: "one" },
  spec: { bgp: { ipv4Address: "192.168.0.1/24", ipv6Address: "fd00::1/64" } },
};
const POOL: IPPool = {
  cidr: "10.0.0.0/16",
  ipip: "",
  ipip_mode: "",
  vxlan_mode: "always",
  masquerade: true,
  ipam: true,
  disabled: false,
  disableBGPExport: false,
  assignment_mode: "Automatic",
  allowed_uses: ["Workload"],
};

/** A block of `one` with one address lent to `two`. */
function block(cidr: string): Block {
  return {
    cidr,
    affinity: "host:one",
    allocations: [null, 0],
    unallocated: [],
    attributes: [{ secondary: { node: "two" } }],
  };
}

test("L3RouteResolver remembers nothing of blocks, pools, nodes and workloads that have gone", () => {
  const sent: string[] = [];
  const sequencer = new EventSequencer(({ msg }) => sent.push(msg));
  const resolver = new L3RouteResolver(sequencer, "one");
  const flush = (): void => {
    resolver.flush();
    sequencer.flush();
  };
  const cidrs = ["10.0.1.0/29", "10.0.2.0/26", "fd00:1::/122"];
  for (let round = 0; round < 3; round++) {
    resolver.setPool(POOL.cidr, POOL);
    resolver.setNode("node-path", "one", NODE);
    resolver.setWorkload("workload-path", "one", ["10.0.1.2/32", "fd00:1::2/128"]);
    for (const cidr of cidrs) resolver.setBlock(cidr, cidr, block(cidr));
    flush();
    // Once more, changed and deleted twice: a delete that was told before counts for nothing.
    for (const cidr of cidrs) resolver.setBlock(cidr, cidr, { ...block(cidr), affinity: "host:two" });
    flush();
    assert.ok(resolver.size > 0);
    for (const cidr of [...cidrs, ...cidrs]) resolver.setBlock(cidr, cidr, undefined);
    resolver.setWorkload("workload-path", "one", []);
    resolver.setNode("node-path", "one", undefined);
    resolver.setPool(POOL.cidr, undefined);
    flush();
    assert.equal(resolver.size, 0);
  }
  assert.equal(
    sent.filter((msg) => msg === "RouteUpdate").length > sent.filter((msg) => msg === "RouteRemove").length,
    true,
    "routes came, changed and went",
  );
});
