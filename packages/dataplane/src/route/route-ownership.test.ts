import assert from "node:assert/strict";
import { it } from "node:test";
import type { Route } from "@bulrush/netlink";
import { Interfaces } from "../manager/interfaces.ts";
import { isOwnRoute } from "./route-ownership.ts";

const interfaces = new Interfaces();
for (const [index, name] of [
  [2, "eth0"],
  [5, "cali1"],
  [6, "vxlan.calico"],
  [7, "tunl0"],
  [8, "cali2"],
] as const)
  interfaces.put(name, { name, index, up: true, mtu: 1500, addresses: new Set() });

const CASES: readonly (readonly [what: string, route: Partial<Route>, isOurs: boolean, ipip?: boolean])[] = [
  ["protocol 80, wherever it leads", { device: 2, protocol: 80 }, true],
  ["protocol 80 without a device", { protocol: 80 }, true],
  ["another's on another's device", { device: 2, protocol: 12 }, false],
  ["another's without a device", { protocol: 12 }, false],
  ["another's on a workload's device", { device: 5, protocol: 12 }, true],
  ["the BGP daemon's on the device of a workload that is its peer", { device: 8, protocol: 12 }, false],
  ["another's on the device of such a workload", { device: 8, protocol: 4 }, true],
  ["another's on our tunnel", { device: 6, protocol: 12 }, true],
  ["the kernel's on our tunnel", { device: 6, protocol: 2 }, false],
  ["the BGP daemon's on tunl0, where those are ours", { device: 7, protocol: 12 }, true, true],
  ["the BGP daemon's on tunl0, where those are not ours", { device: 7, protocol: 12 }, false, false],
  ["another's on tunl0", { device: 7, protocol: 4 }, false, true],
];

for (const [what, route, isOurs, ipip] of CASES)
  it(`isOwnRoute() says ${isOurs ? "yes" : "no"} to ${what}`, () => {
    const isBgpPeer = (name: string): boolean => name === "cali2";
    const ownership = { interfacePrefixes: ["cali"], removeExternalRoutes: true, deviceRouteProtocol: 3, isBgpPeer };
    const clusterRoutes = ipip === undefined ? {} : { clusterRoutes: { ipip } };
    assert.equal(
      isOwnRoute({ destination: "10.0.0.0/26", ...route }, interfaces, { ...ownership, ...clusterRoutes }),
      isOurs,
    );
  });

// A protocol of one's own is on all our routes, those to other hosts too: an earlier life's are found by it.
for (const [set, protocol, isOurs] of [
  [99, 99, true],
  [99, 80, true],
  [99, 98, false],
  [4, 4, false],
] as const)
  it(`isOwnRoute() says ${isOurs ? "yes" : "no"} to protocol ${protocol} on another's device, and without one, where ${set} is set`, () => {
    const ownership = { interfacePrefixes: ["cali"], removeExternalRoutes: true, deviceRouteProtocol: set };
    for (const route of [{ device: 2 }, {}])
      assert.equal(isOwnRoute({ destination: "10.0.0.0/26", protocol, ...route }, interfaces, ownership), isOurs);
  });
