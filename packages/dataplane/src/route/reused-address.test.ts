import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { Interfaces } from "../manager/interfaces.ts";
import { FakeRoutes } from "../testing/fake-routes.ts";
import type { RouteTarget } from "./route-class.ts";
import { RouteTable } from "./route-table.ts";

const OWNERSHIP = { interfacePrefixes: ["cali"], removeExternalRoutes: true, deviceRouteProtocol: 3 };
const ADDRESS = "10.65.0.2";
const route = (fields: Partial<RouteTarget> = {}): RouteTarget => ({
  destination: `${ADDRESS}/32`,
  protocol: 3,
  metric: 1024,
  type: "unicast",
  scope: "link",
  ...fields,
});

/** When the flows of an address have to go: it had a workload on this host, and has it no more. */
describe("RouteTable.release()", () => {
  let kernel: FakeRoutes;
  let interfaces: Interfaces;
  let table: RouteTable;
  let nowMs: number;

  const link = (index: number, name: string, up = true): void => {
    kernel.setLink(index, name, up);
    interfaces.put(name, { name, index, up, mtu: 1500, addresses: new Set() });
    table.touchInterface(name);
  };
  const unlink = (index: number, name: string): void => {
    kernel.removeLink(index);
    interfaces.put(name, undefined);
    table.touchInterface(name);
  };
  /** The addresses that are free now; routes are written after it. */
  const round = (): readonly string[] => {
    const { freed } = table.release(kernel, nowMs);
    table.apply(kernel, nowMs, () => false);
    return freed;
  };

  beforeEach(() => {
    kernel = new FakeRoutes();
    interfaces = new Interfaces();
    table = new RouteTable(4, interfaces, OWNERSHIP);
    nowMs = 60_000;
    link(2, "eth0");
    link(5, "cali1");
    link(6, "cali2");
    link(7, "vxlan.calico");
    table.setRoutes("local-workload", "cali1", [route()]);
    round();
  });

  it("R15: frees an address that moves to another interface, and has deleted its route before it says so", () => {
    table.setRoutes("local-workload", "cali1", []);
    table.setRoutes("local-workload", "cali2", [route()]);
    assert.deepEqual(table.release(kernel, nowMs).freed, [ADDRESS]);
    assert.deepEqual(kernel.listing(), []);
    table.apply(kernel, nowMs, () => false);
    assert.deepEqual(kernel.listing(), [`${ADDRESS}/32 dev cali2 proto 3 metric 1024`]);
  });

  it("tells of a freed address with the next round, when the write that freed it has lost its answer", () => {
    table.setRoutes("local-workload", "cali1", []);
    kernel.loseAnswers = true;
    assert.throws(() => table.release(kernel, nowMs));
    kernel.loseAnswers = false;
    assert.deepEqual(round(), [ADDRESS]);
    assert.deepEqual(round(), []);
  });

  it("R15: frees an address whose route is no more wanted", () => {
    table.setRoutes("local-workload", "cali1", []);
    assert.deepEqual(round(), [ADDRESS]);
    assert.deepEqual(kernel.listing(), []);
    assert.deepEqual(round(), []);
  });

  it("frees an address that moves to another host", () => {
    table.setRoutes("local-workload", "cali1", []);
    table.setRoutes("vxlan-tunnel", "vxlan.calico", [route({ via: "10.66.0.0", protocol: 80 })]);
    assert.deepEqual(round(), [ADDRESS]);
    assert.deepEqual(kernel.listing(), [`${ADDRESS}/32 dev vxlan.calico proto 80 metric 1024 via 10.66.0.0`]);
  });

  it("frees an address that another host had and a local workload gets", () => {
    table.setRoutes("local-workload", "cali1", []);
    table.setRoutes("vxlan-tunnel", "vxlan.calico", [route({ via: "10.66.0.0", protocol: 80 })]);
    round();
    table.setRoutes("local-workload", "cali2", [route()]);
    assert.deepEqual(round(), [ADDRESS]);
  });

  it("R15: frees nothing when an address moves from one other host to the next", () => {
    const remote = route({ destination: "10.65.0.9/32", via: "10.66.0.0", protocol: 80 });
    table.setRoutes("vxlan-tunnel", "vxlan.calico", [remote]);
    assert.deepEqual(round(), []);
    table.setRoutes("vxlan-tunnel", "vxlan.calico", [{ ...remote, via: "10.67.0.0" }]);
    assert.deepEqual(round(), []);
    table.setRoutes("vxlan-tunnel", "vxlan.calico", []);
    table.setRoutes("no-encap", "eth0", [{ ...remote, via: "192.168.0.2" }]);
    assert.deepEqual(round(), []);
  });

  it("R15: frees nothing when the metric alone changes", () => {
    table.setRoutes("local-workload", "cali1", [route({ metric: 512 })]);
    assert.deepEqual(round(), []);
    assert.deepEqual(kernel.listing(), [`${ADDRESS}/32 dev cali1 proto 3 metric 512`]);
  });

  it("R15: frees nothing with a stale route, of an interface that does not have the address", () => {
    kernel.putRoute({ destination: `${ADDRESS}/32`, device: 6, protocol: 3, metric: 7 });
    table.queueResync();
    nowMs += 60_000;
    assert.deepEqual(round(), []);
    assert.deepEqual(kernel.listing(), [`${ADDRESS}/32 dev cali1 proto 3 metric 1024`]);
  });

  it("frees nothing with networks of more than one address", () => {
    table.setRoutes("local-workload", "cali1", [route(), route({ destination: "10.65.9.0/24" })]);
    round();
    table.setRoutes("local-workload", "cali1", [route()]);
    assert.deepEqual(round(), []);
  });

  it("frees nothing while the interface is down or gone, but when it comes back as another", () => {
    link(5, "cali1", false);
    assert.deepEqual(round(), []);
    link(5, "cali1");
    assert.deepEqual(round(), []);
    unlink(5, "cali1");
    assert.deepEqual(round(), []);
    link(9, "cali1");
    assert.deepEqual(round(), [ADDRESS]);
    assert.deepEqual(kernel.listing(), [`${ADDRESS}/32 dev cali1 proto 3 metric 1024`]);
  });

  it("frees an address whose interface went before its endpoint", () => {
    unlink(5, "cali1");
    assert.deepEqual(round(), []);
    table.setRoutes("local-workload", "cali1", []);
    assert.deepEqual(round(), [ADDRESS]);
  });

  it("knows from the routes at the start who had an address", () => {
    table = new RouteTable(4, interfaces, OWNERSHIP);
    table.setRoutes("local-workload", "cali2", [route()]);
    assert.deepEqual(round(), [ADDRESS]);
    assert.deepEqual(kernel.listing(), [`${ADDRESS}/32 dev cali2 proto 3 metric 1024`]);
  });

  it("knows from the routes at the start who had an address, and gives the interface its grace", () => {
    table = new RouteTable(4, interfaces, OWNERSHIP);
    assert.deepEqual(round(), []);
    nowMs += 9999;
    assert.deepEqual(round(), []);
    nowMs += 1;
    assert.deepEqual(round(), [ADDRESS]);
    assert.deepEqual(kernel.listing(), []);
  });

  it("R14: does not route an address that is held, routes others, and makes up for it later", () => {
    table.setRoutes("local-workload", "cali1", []);
    table.setRoutes("local-workload", "cali2", [route(), route({ destination: "10.65.0.3/32" })]);
    table.release(kernel, nowMs);
    table.apply(kernel, nowMs, (address) => address === ADDRESS);
    assert.deepEqual(kernel.listing(), ["10.65.0.3/32 dev cali2 proto 3 metric 1024"]);
    assert.deepEqual(round(), []);
    assert.equal(kernel.listing().length, 2);
  });

  it("does not route an address to an interface that came between release and apply", () => {
    table.setRoutes("local-workload", "cali2", [route()]);
    unlink(5, "cali1");
    unlink(6, "cali2");
    table.release(kernel, nowMs);
    link(8, "cali2");
    table.apply(kernel, nowMs, () => false);
    assert.deepEqual(kernel.listing(), []);
    assert.deepEqual(round(), [ADDRESS]);
    assert.equal(kernel.listing().length, 1);
  });
});
