import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { DataplaneHandle } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, workload, workloadRemove } from "../testing/messages.ts";
import { POD, POLICY, PROFILE, SET, WORLD, refusal, smallHost } from "../testing/small-world.ts";

describe("interfaces, routes and settings", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  const writes = (): number => host.nft.transactions.length;

  beforeEach(() => {
    host = smallHost();
    dataplane = host.start();
  });

  it("R1: writes routes when the interface comes after its endpoint", async () => {
    host.routes.removeLink(5);
    await host.send(dataplane, ...WORLD);
    assert.deepEqual(host.routes.listing(), []);
    host.routes.setLink(8, "calia");
    await host.advance(100);
    assert.equal(host.routes.listing().length, 2);
  });

  it("R5: removes an unknown route of a workload interface 10 s after it was first seen", async () => {
    host.routes.setLink(6, "calib");
    host.routes.putRoute({ destination: "10.65.0.9/32", device: 6, protocol: 3, metric: 0 });
    await host.send(dataplane, ...WORLD);
    await host.advance(9_900);
    assert.equal(host.routes.listing().length, 3);
    await host.advance(200);
    assert.equal(host.routes.listing().length, 2);
  });

  it("R7: workload routes have the source that is set, again after its address was gone for a moment", async () => {
    await dataplane.stop();
    dataplane = host.start({ DeviceRouteSourceAddress: "192.168.0.7", DeviceRouteSourceAddressIPv6: "fd00::7" });
    for (const address of ["192.168.0.7/24", "fd00::7/64"]) host.routes.addAddress(2, address);
    await host.send(dataplane, ...WORLD);
    await host.advance(500);
    const before = host.routes.listing();
    assert.deepEqual(
      before.map((line) => / src (\S+)/.exec(line)?.[1]),
      ["192.168.0.7", "fd00::7"],
    );
    // What kernels do of themselves: IPv4 routes go, IPv6 ones lose their source, and not all of them tell.
    host.routes.dropRoute({ destination: "10.65.0.7/32", metric: 1024 });
    host.routes.putRoute({ destination: "fd65::7/128", device: 5, protocol: 3, metric: 1024 });
    for (const address of ["192.168.0.7/24", "fd00::7/64"]) {
      host.routes.moveAddress(address, undefined);
      host.routes.addAddress(2, address);
    }
    await host.advance(500);
    assert.deepEqual(host.routes.listing(), before);
  });

  it("R22: writes no routes and no neighbours where route sync is off; policy yes", async () => {
    await dataplane.stop();
    dataplane = host.start({ RouteSyncDisabled: "true" });
    await host.send(dataplane, ...WORLD);
    assert.deepEqual(host.routes.writes, []);
    assert.equal(host.missing(WORLD), "");
  });

  it("R23: writes no route for the target of a live migration, until it is none any more", async () => {
    const { endpoint } = POD;
    await host.send(
      dataplane,
      SET,
      POLICY,
      PROFILE,
      { ...POD, endpoint: { ...endpoint, live_migration_role: "target" } },
      IN_SYNC,
    );
    assert.deepEqual(host.routes.listing(), []);
    await host.send(dataplane, POD);
    await host.advance(100);
    assert.equal(host.routes.listing().length, 2);
  });

  it("goes on after a route that fails: policy is applied, the rest is tried again", async () => {
    host.routes.failWritesOf = "10.65.0.7/32";
    void dataplane.send(WORLD);
    dataplane.mark(1);
    await host.settle();
    assert.deepEqual([host.applied, host.status?.phase], [[1], "retrying"]);
    assert.deepEqual(host.routes.listing(), ["fd65::7/128 dev calia proto 3 metric 1024"]);
    host.routes.failWritesOf = undefined;
    await host.advance(200);
    assert.deepEqual([host.routes.listing().length, host.status?.phase], [2, "in-sync"]);
  });

  it("goes on after a setting that fails: the endpoint stays down until it works", async () => {
    host.sysctls.failing = "calia/proxy_arp";
    await host.send(dataplane, ...WORLD);
    const down = { msg: "WorkloadEndpointStatusUpdate", id: POD.id, status: "down" };
    assert.deepEqual(host.messages, [down, { msg: "DataplaneInSync" }]);
    host.sysctls.failing = undefined;
    await host.advance(500);
    assert.deepEqual(host.messages.slice(2), [{ ...down, status: "up" }]);
  });

  describe("what fails for good", () => {
    const IN_SYNC_TOLD = { msg: "DataplaneInSync" };
    const told = (): number => host.messages.filter(({ msg }) => msg === "DataplaneInSync").length;

    it("a route does not hold back that policy is there; it stays in sight, and is tried with longer pauses", async () => {
      host.routes.failWritesOf = "10.65.0.7/32";
      await host.send(dataplane, ...WORLD);
      assert.deepEqual(host.messages.at(-1), IN_SYNC_TOLD);
      await host.advance(60_000);
      assert.equal(told(), 1);
      assert.equal(host.status?.phase, "retrying");
      assert.match(host.status?.reason ?? "", /^replace-route 10\.65\.0\.7\/32: /);
      const tries = host.status?.counters.applyFailures ?? 0;
      assert.ok(tries >= 10 && tries <= 16, `Expected pauses of 0.1 s, doubling to 10 s; got ${tries} tries`);
      host.routes.failWritesOf = undefined;
      await host.advance(10_000);
      assert.deepEqual([host.routes.listing().length, host.status?.phase, told()], [2, "in-sync", 1]);
    });

    it("a route does not make another wait that fails for a moment", async () => {
      host.routes.failWritesOf = "10.65.0.7/32";
      await host.send(dataplane, ...WORLD);
      // From here on the next try is 10 s away.
      await host.advance(60_000);
      host.sysctls.failing = "calib/proxy_arp";
      host.routes.setLink(6, "calib");
      await host.send(dataplane, workload("b", { ipv4_nets: ["10.65.0.8/32"], profile_ids: ["kns.default"] }));
      await host.advance(200);
      host.sysctls.failing = undefined;
      await host.advance(500);
      assert.ok(host.sysctls.writes.includes("net/ipv4/conf/calib/proxy_arp=1"));
    });

    it("a family whose routes cannot be listed does not keep out the other, nor neighbours", async () => {
      host.routes.failListings = 6;
      await host.send(dataplane, ...WORLD);
      assert.deepEqual(host.messages.at(-1), IN_SYNC_TOLD);
      assert.deepEqual(host.routes.listing(), ["10.65.0.7/32 dev calia proto 3 metric 1024"]);
      assert.equal(host.routes.neighbourListing().length, 1);
      assert.match(host.status?.reason ?? "", /^List routes of IPv6: /);
      host.routes.failListings = false;
      await host.advance(200);
      assert.deepEqual([host.routes.listing().length, host.status?.phase], [2, "in-sync"]);
    });

    it("an IPv6 address of an interface on which IPv6 is off is told once, and comes with IPv6", async () => {
      host.routes.withoutIpv6.add(5);
      await host.send(dataplane, ...WORLD);
      assert.deepEqual([host.messages.at(-1), host.status?.phase], [IN_SYNC_TOLD, "in-sync"]);
      host.routes.setLink(5, "calia", true, 1400);
      await host.advance(200_000);
      assert.deepEqual(
        host.logs.filter((line) => line.includes("fd65::7")),
        ["warn No route to fd65::7/128 by calia: replace-route: EACCES"],
      );
      host.routes.withoutIpv6.delete(5);
      // The kernel makes the link-local address as IPv6 is switched on.
      host.routes.addAddress(5, "fe80::1/64");
      await host.advance(500);
      assert.equal(host.routes.listing().length, 2);
    });

    it("rules that the kernel refuses do hold it back", async () => {
      host.nft.failRuns(refusal(), 1000);
      await host.send(dataplane, ...WORLD);
      await host.advance(5000);
      assert.deepEqual([told(), host.status?.ready, host.fatal.length], [0, false, 1]);
    });
  });

  it("goes on where a setting cannot be read", async () => {
    host.sysctls.unreadable = "conf/default/rp_filter";
    await host.send(dataplane, ...WORLD);
    assert.deepEqual([host.fatal, host.status?.phase, host.routes.listing().length], [[], "retrying", 2]);
    host.sysctls.unreadable = undefined;
    await host.advance(500);
    assert.equal(host.status?.phase, "in-sync");
  });

  it("makes no router of a host that has no rules yet", async () => {
    host.nft.failRuns(refusal());
    await dataplane.send(WORLD);
    await host.clock.advance(0);
    assert.deepEqual([writes(), host.sysctls.writes], [0, []]);
    await host.advance(100);
    assert.equal(host.missing(WORLD), "");
    assert.ok(host.sysctls.writes.includes("net/ipv4/ip_forward=1"));
  });

  it("makes a router of the host, unless told otherwise", async () => {
    await host.send(dataplane, ...WORLD);
    assert.ok(host.sysctls.writes.includes("net/ipv4/ip_forward=1"));
    const other = new FakeHost();
    await other.send(other.start({ IPForwarding: "Disabled" }), ...WORLD);
    assert.ok(!other.sysctls.writes.includes("net/ipv4/ip_forward=1"));
  });

  describe("an address that gets another workload", () => {
    const SUCCESSOR = workload("b", { ipv4_nets: ["10.65.0.7/32"], profile_ids: ["kns.default"] });

    beforeEach(async () => {
      host.routes.setLink(6, "calib");
      await host.send(dataplane, ...WORLD);
    });

    it("has lost its flows before its route is written for the next one", async () => {
      await host.advance(1000);
      await host.send(dataplane, workloadRemove("a"), SUCCESSOR);
      assert.deepEqual(host.flows.deleted, ["10.65.0.7", "fd65::7"]);
      assert.deepEqual(host.flows.routesThen, [[]]);
      assert.deepEqual(host.routes.listing(), ["10.65.0.7/32 dev calib proto 3 metric 1024"]);
    });

    it("R14: waits while its flows cannot be deleted; others do not", async () => {
      host.flows.failing = "10.65.0.7";
      await host.advance(1000);
      await host.send(dataplane, workloadRemove("a"), {
        ...SUCCESSOR,
        endpoint: { ...SUCCESSOR.endpoint, ipv4_nets: ["10.65.0.7/32", "10.65.0.8/32"] },
      });
      assert.deepEqual(host.routes.listing(), ["10.65.0.8/32 dev calib proto 3 metric 1024"]);
      assert.equal(host.status?.phase, "retrying");
      host.flows.failing = undefined;
      await host.advance(1000);
      assert.equal(host.routes.listing().length, 2);
      assert.deepEqual([host.flows.deleted, host.status?.phase], [["10.65.0.7", "fd65::7"], "in-sync"]);
    });

    it("keeps its flows over a change of its endpoint that leaves it in place, and over a restart", async () => {
      await host.advance(1000);
      await host.send(dataplane, { ...POD, endpoint: { ...POD.endpoint, profile_ids: [] } });
      await dataplane.stop();
      dataplane = host.start();
      await host.send(dataplane, ...WORLD);
      assert.deepEqual(host.flows.deleted, []);
    });
  });
});
