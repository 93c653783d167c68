import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { InterfaceAddress, Link, VxlanInfo } from "@bulrush/netlink";
import { planVxlanDevice, type VxlanDevice } from "./vxlan-device.ts";

const WANTED: VxlanDevice = {
  name: "vxlan.calico",
  mac: "66:00:00:00:00:0a",
  mtu: 1450,
  vni: 4096,
  port: 4789,
  local: "192.168.0.1",
  parent: 2,
  address: "10.65.0.0",
};
const INFO: VxlanInfo = {
  vni: 4096,
  port: 4789,
  local: "192.168.0.1",
  parent: 2,
  learning: false,
  l2miss: false,
  gbp: false,
  external: false,
};
const LINK: Link = {
  index: 9,
  name: "vxlan.calico",
  kind: "vxlan",
  mac: WANTED.mac,
  mtu: 1450,
  up: true,
  running: true,
  flags: 0,
  vxlan: INFO,
};
const ADDRESS: InterfaceAddress = { device: 9, address: "10.65.0.0/32" };

const { vxlan: _none, ...BARE } = LINK;
const { parent: _parent, ...UNBOUND } = INFO;

/** What cannot be changed on a device that is there. */
const OTHER_DEVICES: readonly (readonly [what: string, link: Link])[] = [
  ["is of another kind", { ...BARE, kind: "dummy" }],
  ["takes its peers from the packet's metadata", { ...LINK, vxlan: { ...INFO, external: true } }],
  ["has another identifier", { ...LINK, vxlan: { ...INFO, vni: 4097 } }],
  ["has another parent", { ...LINK, vxlan: { ...INFO, parent: 3 } }],
  ["has no parent", { ...LINK, vxlan: UNBOUND }],
  ["has another local address", { ...LINK, vxlan: { ...INFO, local: "192.168.0.2" } }],
  ["has a group", { ...LINK, vxlan: { ...INFO, group: "239.1.1.1" } }],
  ["asks for MAC addresses that it does not know", { ...LINK, vxlan: { ...INFO, l2miss: true } }],
  ["has another port", { ...LINK, vxlan: { ...INFO, port: 8472 } }],
  ["has group policy", { ...LINK, vxlan: { ...INFO, gbp: true } }],
  ["has another MAC address", { ...LINK, mac: "66:00:00:00:00:0b" }],
];

describe("planVxlanDevice()", () => {
  it("leaves a device that is as wanted alone", () => {
    assert.deepEqual(planVxlanDevice(WANTED, LINK, [ADDRESS], 4), { kind: "adjust", operations: [], index: 9 });
  });

  for (const [what, link] of OTHER_DEVICES)
    it(`makes a device anew that ${what}`, () => {
      const { kind, operations } = planVxlanDevice(WANTED, link, [ADDRESS], 4);
      assert.deepEqual([kind, operations.map((operation) => operation.kind)], ["make", ["delete-link", "add-vxlan"]]);
    });

  it("changes MTU and state of a device that is there", () => {
    for (const [link, change] of [
      [{ ...LINK, mtu: 1400 }, { mtu: 1450 }],
      [{ ...LINK, up: false }, { up: true }],
    ] as const)
      assert.deepEqual(planVxlanDevice(WANTED, link, [ADDRESS], 4).operations, [
        { kind: "change-link", link: 9, change },
      ]);
  });

  it("gives it its one address, and takes others of the family away", () => {
    const other: InterfaceAddress = { device: 9, address: "10.65.0.9/32" };
    const six: InterfaceAddress = { device: 9, address: "fd00::9/128" };
    const elsewhere: InterfaceAddress = { device: 2, address: "192.168.0.1/24" };
    assert.deepEqual(planVxlanDevice(WANTED, LINK, [other, six, elsewhere], 4).operations, [
      // With the last one, the kernel would drop all routes of the device.
      { kind: "replace-address", address: { device: 9, address: "10.65.0.0/32", noDad: true } },
      { kind: "delete-address", address: other },
    ]);
  });

  it("keeps the link-local address of IPv6", () => {
    const wanted: VxlanDevice = { ...WANTED, address: "fd65::" };
    const own: InterfaceAddress = { device: 9, address: "fd65::/128" };
    const linkLocal: InterfaceAddress = { device: 9, address: "fe80::6400:ff:fe00:a/64" };
    const other: InterfaceAddress = { device: 9, address: "fd65::1/128" };
    assert.deepEqual(planVxlanDevice(wanted, LINK, [linkLocal, own, other], 6).operations, [
      { kind: "delete-address", address: other },
    ]);
  });
});
