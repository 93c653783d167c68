import assert from "node:assert/strict";
import { it } from "node:test";
import type { RouteOperation } from "@bulrush/netlink";
import { deviceDrift } from "./device-drift.ts";

const MAKE: RouteOperation = { kind: "add-link", plain: { name: "tunl0", kind: "ipip", mtu: 1480, up: true } };
const DELETE: RouteOperation = { kind: "delete-link", link: 7 };
const ADDRESS = { device: 7, address: "10.65.0.1/32" } as const;
const NEIGHBOUR = { device: 7, address: "10.65.1.0", mac: "66:00:00:00:00:0b" } as const;

const CASES: readonly (readonly [what: string, operations: readonly RouteOperation[], items: readonly string[]])[] = [
  ["nothing to do", [], []],
  ["is made", [MAKE], ["device tunl0 missing: "]],
  ["is made anew", [DELETE, MAKE], ["device tunl0 changed: of another make"]],
  ["is deleted", [DELETE], ["device tunl0 unknown: "]],
  [
    "is set up",
    [
      { kind: "change-link", link: 7, change: { mtu: 1480 } },
      { kind: "delete-address", address: ADDRESS },
      { kind: "replace-address", address: ADDRESS },
    ],
    ["device tunl0 changed: MTU or state, address unknown, address missing"],
  ],
  [
    "entries alone",
    [
      { kind: "delete-neighbour", neighbour: NEIGHBOUR },
      { kind: "replace-neighbour", neighbour: { ...NEIGHBOUR, address: "192.168.0.2", forwarding: true } },
    ],
    ["neighbour 10.65.1.0 on tunl0 unknown: ", "neighbour 66:00:00:00:00:0b on tunl0 changed: 192.168.0.2 is meant"],
  ],
];

for (const [what, operations, items] of CASES)
  it(`deviceDrift() names what would be put right: ${what}`, () => {
    const words = deviceDrift("tunl0", operations).map(
      ({ detail, kind, name, what: how }) => `${kind} ${name} ${how}: ${detail}`,
    );
    assert.deepEqual(words, items);
  });
