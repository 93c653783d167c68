import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCidr } from "@bulrush/ip";
import { blockRoutes } from "./block-routes.ts";

const ROWS: readonly (readonly [block: string, ordinal: number, address: string])[] = [
  ["10.0.128.0/17", 257, "10.0.129.1/32"],
  ["10.0.0.64/30", 3, "10.0.0.67/32"],
  ["fd00::ff00/120", 255, "fd00::ffff/128"],
];

for (const [block, ordinal, address] of ROWS) {
  test(`blockRoutes() finds ordinal ${ordinal} of ${block} at ${address}`, () => {
    const allocations = Array.from({ length: ordinal + 1 }, (_, i) => (i === ordinal ? 0 : null));
    const routes = blockRoutes(block, {
      cidr: block,
      affinity: "host:a",
      allocations,
      unallocated: [],
      attributes: [{ secondary: { node: "b" } }],
    });
    const borrowed = [...routes.values()].filter(({ node }) => node === "b");
    assert.deepEqual(
      borrowed.map(({ cidr }) => formatCidr(cidr)),
      [address],
    );
  });
}
