import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { Route, RouteOperation } from "@bulrush/netlink";
import { Interfaces } from "../manager/interfaces.ts";
import { FakeRoutes } from "../testing/fake-routes.ts";
import type { RouteTarget } from "./route-class.ts";
import { RouteTable } from "./route-table.ts";

const OWNERSHIP = { interfacePrefixes: ["cali"], removeExternalRoutes: true, deviceRouteProtocol: 3 };

const target = (destination: string, fields: Partial<RouteTarget> = {}): RouteTarget => ({
  destination,
  protocol: 3,
  metric: 1024,
  type: "unicast",
  scope: "link",
  ...fields,
});

describe("RouteTable", () => {
  let kernel: FakeRoutes;
  let interfaces: Interfaces;
  let table: RouteTable;

  /** The link in the kernel and, as the monitor would, in the interfaces. */
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

  /** Release and apply, with nothing held. */
  const round = (
    nowMs: number,
  ): { writes: number; drift: number; failures: string[]; againAtMs: number | undefined } => {
    const released = table.release(kernel, nowMs);
    const { againAtMs, failures, writes } = table.apply(kernel, nowMs, () => false);
    return {
      writes: released.writes + writes,
      drift: released.drift.length,
      failures: [...released.failures, ...failures],
      againAtMs,
    };
  };

  beforeEach(() => {
    kernel = new FakeRoutes();
    interfaces = new Interfaces();
    table = new RouteTable(4, interfaces, OWNERSHIP);
  });

  it("R1: writes a link route of protocol 3 and metric 1024, when the interface is up", () => {
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    round(0);
    assert.deepEqual(kernel.listing(), []);
    link(5, "cali1");
    round(0);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 3 metric 1024"]);
  });

  it("R1: has IPv6 routes of metric 1024", () => {
    table = new RouteTable(6, interfaces, OWNERSHIP);
    table.setRoutes("local-workload", "cali1", [target("fd65::2/128")]);
    link(5, "cali1");
    round(0);
    assert.deepEqual(kernel.listing(), ["fd65::2/128 dev cali1 proto 3 metric 1024"]);
  });

  it("R2: gives an address that two interfaces claim to the newest, and to the other when that one goes or is down", () => {
    for (const name of ["cali1", "cali2"]) table.setRoutes("local-workload", name, [target("10.65.0.2/32")]);
    link(5, "cali1");
    link(6, "cali2");
    round(0);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali2 proto 3 metric 1024"]);
    link(6, "cali2", false);
    round(0);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 3 metric 1024"]);
    link(6, "cali2");
    round(0);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali2 proto 3 metric 1024"]);
    table.setRoutes("local-workload", "cali2", []);
    round(0);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 3 metric 1024"]);
  });

  it("R4: writes the route again, when the interface flapped", () => {
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    link(5, "cali1");
    round(0);
    for (const up of [false, true, false, true]) {
      link(5, "cali1", up);
      assert.deepEqual(round(0).failures, []);
    }
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 3 metric 1024"]);
  });

  it("R4: writes the route again, when the flap was too short to be seen but took the route along", () => {
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    link(5, "cali1");
    round(0);
    kernel.setLink(5, "cali1", false);
    kernel.setLink(5, "cali1", true);
    table.touchInterface("cali1");
    round(0);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 3 metric 1024"]);
  });

  it("R5: leaves an unknown route on a new workload interface for 10 s, and says when to come back", () => {
    link(5, "cali1");
    kernel.putRoute({ destination: "10.65.0.9/32", device: 5, protocol: 3, metric: 0 });
    assert.equal(round(1000).againAtMs, 11_000);
    assert.equal(round(10_999).againAtMs, 11_000);
    assert.equal(kernel.listing().length, 1);
    assert.deepEqual(kernel.writes, []);
    assert.equal(round(11_000).againAtMs, undefined);
    assert.deepEqual(kernel.listing(), []);
  });

  it("R5: ends the grace at once, when it has routes of its own for the interface", () => {
    link(5, "cali1");
    kernel.putRoute({ destination: "10.65.0.9/32", device: 5, protocol: 3, metric: 0 });
    round(0);
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    table.queueResync();
    round(1);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 3 metric 1024"]);
  });

  it("R7: replaces the route, when its source or protocol changes", () => {
    link(5, "cali1");
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    round(0);
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32", { source: "10.0.0.1", protocol: 7 })]);
    round(0);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 7 metric 1024 src 10.0.0.1"]);
  });

  it("R9: writes nothing, when a route was deleted and set again before the apply", () => {
    link(5, "cali1");
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    round(0);
    const before = kernel.writes.length;
    table.setRoutes("local-workload", "cali1", []);
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    assert.equal(round(0).writes, 0);
    assert.equal(kernel.writes.length, before);
  });

  it("R10: keeps routes of one network with several metrics apart, and removes a stale metric", () => {
    link(5, "cali1");
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32"), target("10.65.0.2/32", { metric: 512 })]);
    round(0);
    assert.equal(kernel.listing().length, 2);
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32", { metric: 512 })]);
    round(0);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 3 metric 512"]);
  });

  it("adopts what is there at the start: nothing is written when it is as wanted", () => {
    link(5, "cali1");
    kernel.putRoute({ destination: "10.65.0.2/32", device: 5, protocol: 3, metric: 1024, scope: "link" });
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    const result = round(0);
    assert.deepEqual([result.writes, result.drift, kernel.writes], [0, 0, []]);
  });

  it("touches own routes only", () => {
    link(2, "eth0");
    link(5, "cali1");
    kernel.putRoute({ destination: "0.0.0.0/0", device: 2, via: "192.168.0.1", protocol: 4, metric: 0 });
    kernel.putRoute({ destination: "10.1.0.0/24", device: 2, protocol: 3, metric: 0 });
    kernel.putRoute({ destination: "10.9.0.0/26", type: "blackhole", protocol: 80, metric: 1024 });
    round(0);
    round(60_000);
    assert.deepEqual(kernel.listing(), [
      "0.0.0.0/0 dev eth0 proto 4 metric 0 via 192.168.0.1",
      "10.1.0.0/24 dev eth0 proto 3 metric 0",
    ]);
  });

  it("keeps routes of a configured protocol on interfaces of others in step, though nobody but us knows that they are ours", () => {
    const wanted = target("10.65.1.0/26", { protocol: 99, metric: 0, via: "192.168.0.2", scope: "universe" });
    const hole = target("10.65.0.0/26", { protocol: 99, metric: 0, type: "blackhole", scope: "universe" });
    link(2, "eth0");
    table.setRoutes("no-encap", "eth0", [wanted]);
    table.setRoutes("blackhole-no-encap", "", [hole]);
    assert.equal(round(0).writes, 2);
    const both = kernel.listing();
    table.queueResync();
    assert.deepEqual([round(0).drift, kernel.writes.length], [0, 2], "they are there, and nobody has changed them");
    table = new RouteTable(4, interfaces, OWNERSHIP);
    table.setRoutes("no-encap", "eth0", [wanted]);
    table.setRoutes("blackhole-no-encap", "", [hole]);
    assert.deepEqual([round(0).writes, kernel.listing()], [0, both], "a start finds them");
    table.setRoutes("no-encap", "eth0", []);
    table.setRoutes("blackhole-no-encap", "", []);
    round(0);
    assert.deepEqual(kernel.listing(), []);
  });

  it("leaves an IPv6 route of somebody else to one network alone that it has a route to itself", () => {
    table = new RouteTable(6, interfaces, OWNERSHIP);
    link(2, "eth0");
    link(3, "eth1");
    table.setRoutes("no-encap", "eth0", [target("fd65::/122", { protocol: 80, via: "fd00::2", scope: "universe" })]);
    round(0);
    const ours = kernel.routes();
    const foreign: Route = { destination: "fd65::/122", device: 3, via: "fd00::3", protocol: 4, metric: 1024 };
    kernel.routes = () => [...ours, foreign];
    table.queueResync();
    assert.deepEqual([round(0).drift, kernel.writes.length], [0, 1]);
  });

  it("removes a stale route with a type of service, and leaves ours without one alone", () => {
    link(5, "cali1");
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    round(0);
    const stale: Route = { destination: "10.65.0.2/32", device: 5, protocol: 3, metric: 1024, scope: "link", tos: 16 };
    const ours = kernel.routes();
    kernel.routes = () => [...ours, stale];
    const asked: RouteOperation[] = [];
    kernel.apply = (operations) => {
      asked.push(...operations);
      return [];
    };
    table.queueResync();
    round(60_000);
    // Whatever its protocol and scope are by then.
    const named = { destination: "10.65.0.2/32", device: 5, metric: 1024, tos: 16 };
    assert.deepEqual(asked, [{ kind: "delete-route", route: named }]);
  });

  it("gives routes by a tunnel its MTU, and replaces them when it changes", () => {
    link(6, "tunl0");
    const byTunnel = (mtu: number): RouteTarget =>
      target("10.65.1.0/26", { protocol: 80, metric: 0, via: "192.168.0.2", onlink: true, scope: "universe", mtu });
    table.setRoutes("ipip-tunnel", "tunl0", [byTunnel(1480)]);
    round(0);
    assert.deepEqual(
      kernel.routes().map(({ mtu }) => mtu),
      [1480],
    );
    table.queueResync();
    assert.equal(round(0).writes, 0);
    table.setRoutes("ipip-tunnel", "tunl0", [byTunnel(1380)]);
    round(0);
    assert.deepEqual(
      kernel.routes().map(({ mtu }) => mtu),
      [1380],
    );
  });

  it("removes a stale route from an interface that has lost its carrier, where the kernel keeps it", () => {
    link(5, "cali1");
    kernel.putRoute({ destination: "10.65.0.9/32", device: 5, protocol: 3, metric: 1024 });
    round(0);
    // Up for the administrator, and not running: the kernel leaves the routes there.
    interfaces.put("cali1", { name: "cali1", index: 5, up: false, mtu: 1500, addresses: new Set() });
    table.touchInterface("cali1");
    round(10_001);
    assert.deepEqual(kernel.listing(), []);
  });

  it("leaves routes of other protocols on workload interfaces, when external routes are not ours to remove", () => {
    table = new RouteTable(4, interfaces, { ...OWNERSHIP, removeExternalRoutes: false });
    link(5, "cali1");
    kernel.putRoute({ destination: "10.65.0.9/32", device: 5, protocol: 12, metric: 0 });
    kernel.putRoute({ destination: "10.65.0.8/32", device: 5, protocol: 3, metric: 0 });
    round(0);
    round(10_000);
    assert.deepEqual(kernel.listing(), ["10.65.0.9/32 dev cali1 proto 12 metric 0"]);
  });

  it("repairs what somebody else changed at the next listing, and counts it", () => {
    link(5, "cali1");
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32"), target("10.65.0.3/32")]);
    round(0);
    kernel.dropRoute({ destination: "10.65.0.2/32", metric: 1024 });
    assert.equal(round(0).writes, 0);
    table.queueResync();
    const result = round(0);
    assert.deepEqual([result.writes, result.drift], [1, 1]);
    assert.equal(kernel.listing().length, 2);
  });

  describe("notice()", () => {
    const [known, other]: readonly Route[] = [
      { destination: "10.65.0.2/32", device: 5, protocol: 3, metric: 1024, scope: "link", type: "unicast" },
      { destination: "10.99.0.0/16", device: 5, protocol: 3, metric: 0, scope: "link", type: "unicast" },
    ];

    beforeEach(() => {
      link(5, "cali1");
      table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
      round(0);
    });

    it("of a lost route of ours makes the next round write it, and counts it", () => {
      kernel.dropRoute(known ?? assert.fail());
      assert.equal(table.notice(known ?? assert.fail(), true), true);
      const result = round(0);
      assert.deepEqual([result.writes, result.drift, kernel.listing().length], [1, 1, 1]);
    });

    it("of a route that goes with its interface, which the kernel tells next, is nobody's doing", () => {
      kernel.dropRoute(known ?? assert.fail());
      assert.equal(table.notice(known ?? assert.fail(), true), true);
      table.touchInterface("cali1");
      assert.deepEqual([round(0).drift, kernel.listing().length], [0, 1], "down for less than anybody sees");
      kernel.dropRoute(known ?? assert.fail());
      assert.equal(table.notice(known ?? assert.fail(), true), true);
      unlink(5, "cali1");
      assert.deepEqual([round(0).drift, kernel.listing()], [0, []]);
    });

    it("of a changed route of ours makes the next round list and write, and is counted where the listing says so", () => {
      const changed: Route = { ...(known ?? assert.fail()), protocol: 99 };
      kernel.putRoute(changed);
      assert.equal(table.notice(changed, false), true);
      const result = round(0);
      assert.deepEqual([result.writes, result.drift], [1, 1]);
      assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 3 metric 1024"]);
      assert.equal(table.notice(changed, false), true);
      assert.deepEqual([round(0).drift, kernel.listing().length], [0, 1]);
    });

    it("of what we wrote, of other people's routes and of other tables changes nothing", () => {
      for (const route of [known ?? assert.fail(), { ...(known ?? assert.fail()), table: 254 }])
        assert.equal(table.notice(route, false), false);
      assert.equal(table.notice({ ...(known ?? assert.fail()), table: 100 }, true), false);
      assert.equal(table.notice({ ...(known ?? assert.fail()), device: 9 }, true), false);
      for (const gone of [false, true]) assert.equal(table.notice(other ?? assert.fail(), gone), false);
      const listings = kernel.routeListings;
      assert.deepEqual([round(0).writes, kernel.routeListings], [0, listings]);
    });
  });

  it("writes nothing when a listing fails: it is not an empty one", () => {
    link(5, "cali1");
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    kernel.failListings = true;
    assert.throws(() => round(0));
    assert.deepEqual(kernel.writes, []);
    kernel.failListings = false;
    round(0);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 3 metric 1024"]);
  });

  it("reports a failed write, goes on with the others and tries it again", () => {
    link(5, "cali1");
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32"), target("10.65.0.3/32")]);
    kernel.failWritesOf = "10.65.0.2/32";
    assert.equal(round(0).failures.length, 1);
    assert.deepEqual(kernel.listing(), ["10.65.0.3/32 dev cali1 proto 3 metric 1024"]);
    kernel.failWritesOf = undefined;
    assert.deepEqual(round(0).failures, []);
    assert.equal(kernel.listing().length, 2);
  });

  it("forgets routes with their interface, and writes them for the one that comes back under its name", () => {
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32")]);
    link(5, "cali1");
    round(0);
    unlink(5, "cali1");
    assert.deepEqual(round(0).failures, []);
    assert.equal(table.size, 0);
    link(9, "cali1");
    round(0);
    assert.deepEqual(kernel.listing(), ["10.65.0.2/32 dev cali1 proto 3 metric 1024"]);
  });

  it("tries again what was to be written, when answers were lost", () => {
    link(5, "cali1");
    round(0);
    table.setRoutes("local-workload", "cali1", [target("10.65.0.2/32"), target("10.65.0.3/32")]);
    kernel.loseAnswers = true;
    assert.throws(() => round(0));
    kernel.loseAnswers = false;
    kernel.dropRoute({ destination: "10.65.0.3/32", metric: 1024 });
    assert.deepEqual(round(0).failures, []);
    assert.deepEqual(kernel.listing(), [
      "10.65.0.2/32 dev cali1 proto 3 metric 1024",
      "10.65.0.3/32 dev cali1 proto 3 metric 1024",
    ]);
  });
});
