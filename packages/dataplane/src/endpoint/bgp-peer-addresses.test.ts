import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { GlobalBGPConfigUpdate, ToDataplane } from "@bulrush/proto";
import type { DataplaneHandle, InspectableDataplane } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, workload, workloadRemove } from "../testing/messages.ts";

const DEVICE = 5;
const OTHER = 6;

describe("BgpPeerAddresses", () => {
  let host: FakeHost;
  let dataplane: InspectableDataplane;

  const peering = (v4: string, v6 = ""): GlobalBGPConfigUpdate => ({
    msg: "GlobalBGPConfigUpdate",
    service_cluster_cidrs: [],
    service_external_cidrs: [],
    service_loadbalancer_cidrs: [],
    local_workload_peering_ip_v4: v4,
    local_workload_peering_ip_v6: v6,
  });
  const peer = (name: string): ToDataplane =>
    workload(name, { ipv4_nets: ["10.65.0.7/32"], local_bgp_peer: { bgp_peer_name: "p" } });
  const plain = (name: string): ToDataplane => workload(name, { ipv4_nets: ["10.65.0.7/32"] });
  const send = async (to: DataplaneHandle, ...messages: readonly ToDataplane[]): Promise<void> => {
    await host.send(to, ...messages);
    await host.advance(500);
  };
  /** "5 10.0.0.9/32 link" */
  const addresses = (): string[] =>
    host.routes
      .addresses()
      .map(({ address, device, scope = "-" }) => `${device} ${address} ${scope}`)
      .sort();

  beforeEach(() => {
    host = new FakeHost();
    host.routes.setLink(DEVICE, "calia");
    host.routes.setLink(OTHER, "calib");
    dataplane = host.start();
  });

  it("gives the interface of a peer the peering addresses of both families, of scope link, and of nobody else", async () => {
    await send(dataplane, peering("10.0.0.9", "fd00::9"), peer("a"), plain("b"), IN_SYNC);
    assert.deepEqual(addresses(), ["5 10.0.0.9/32 link", "5 fd00::9/128 link"]);
    await dataplane.stop();
  });

  it("takes them away when the role ends, when the workload goes, and when another peering address comes", async () => {
    await send(dataplane, peering("10.0.0.9"), peer("a"), peer("b"), IN_SYNC);
    assert.deepEqual(addresses(), ["5 10.0.0.9/32 link", "6 10.0.0.9/32 link"]);
    await send(dataplane, plain("a"));
    assert.deepEqual(addresses(), ["6 10.0.0.9/32 link"]);
    await send(dataplane, peering("10.0.0.8"));
    assert.deepEqual(addresses(), ["6 10.0.0.8/32 link"]);
    await send(dataplane, peering(""));
    assert.deepEqual(addresses(), []);
    await send(dataplane, peering("10.0.0.8"));
    await send(dataplane, workloadRemove("b"));
    assert.deepEqual(addresses(), []);
    await dataplane.stop();
  });

  it("leaves the workload's routes and neighbours in place, though the kernel drops them with the last address", async () => {
    const seen = (): readonly string[][] => [host.routes.listing(), host.routes.neighbourListing()];
    const withMac = { ipv4_nets: ["10.65.0.7/32"], mac: "ee:00:00:00:00:01" };
    await send(dataplane, peering("10.0.0.9"), workload("a", { ...withMac, local_bgp_peer: { bgp_peer_name: "p" } }));
    await send(dataplane, IN_SYNC);
    const before = seen();
    assert.deepEqual(before.flat().length, 2);
    // One pass of the loop each, without any time in between.
    const written = host.routes.writes.length;
    await host.send(dataplane, peering("10.0.0.8"));
    assert.deepEqual([addresses(), seen()], [["5 10.0.0.8/32 link"], before]);
    assert.deepEqual(host.routes.writes.slice(written, written + 2), [
      "replace-address 10.0.0.8/32",
      "delete-address 10.0.0.9/32",
    ]);
    await host.advance(500);
    await host.send(dataplane, workload("a", withMac));
    assert.deepEqual([addresses(), seen()], [[], before]);
    await dataplane.stop();
  });

  it("takes the place of the same address with another scope", async () => {
    host.routes.addAddress(DEVICE, "10.0.0.9/32", "universe");
    await send(dataplane, peering("10.0.0.9"), peer("a"), IN_SYNC);
    assert.deepEqual(addresses(), ["5 10.0.0.9/32 link"]);
    await dataplane.stop();
  });

  it("comes with the interface, and again with the next one of its name", async () => {
    host.routes.removeLink(DEVICE);
    await send(dataplane, peering("10.0.0.9"), peer("a"), IN_SYNC);
    assert.deepEqual(addresses(), []);
    host.routes.setLink(DEVICE, "calia");
    await host.advance(500);
    assert.deepEqual(addresses(), ["5 10.0.0.9/32 link"]);
    host.routes.removeLink(DEVICE);
    host.routes.setLink(9, "calia");
    await host.advance(500);
    assert.deepEqual(addresses(), ["9 10.0.0.9/32 link"]);
    await dataplane.stop();
  });

  it("writes nothing at a start that finds all there, and removes what a role left that has ended meanwhile", async () => {
    host.routes.addAddress(DEVICE, "10.0.0.9/32", "link");
    host.routes.addAddress(OTHER, "10.0.0.9/32", "link");
    await send(dataplane, peering("10.0.0.9"), peer("a"), plain("b"), IN_SYNC);
    assert.deepEqual(addresses(), ["5 10.0.0.9/32 link"]);
    assert.deepEqual(
      host.routes.writes.filter((write) => write.includes("address")),
      ["delete-address 10.0.0.9/32"],
    );
    await dataplane.stop();
  });

  describe("what an earlier life has left", () => {
    const bothWritten = ["5 10.0.0.9/32 link", "5 fd00::9/128 link"];

    beforeEach(async () => {
      await send(dataplane, peering("10.0.0.9", "fd00::9"), peer("a"), IN_SYNC);
      assert.deepEqual(addresses(), bothWritten);
      await dataplane.stop();
      host.routes.addAddress(DEVICE, "169.254.1.1/32", "link");
      host.routes.addAddress(OTHER, "10.0.0.9/32", "link");
      host.routes.addAddress(OTHER, "fd00::9/128", "universe", 2);
      host.routes.setLink(2, "eth0");
      host.routes.addAddress(2, "10.0.0.9/32", "link", 80);
      dataplane = host.start();
    });

    const OTHERS = ["2 10.0.0.9/32 link", "5 169.254.1.1/32 link", "6 10.0.0.9/32 link", "6 fd00::9/128 universe"];

    it("goes at the start where nobody asks for a peering address any more, and nobody else's does", async () => {
      await send(dataplane, peer("a"), plain("b"));
      assert.equal(addresses().length, 6, "not before the datastore is in sync");
      await send(dataplane, IN_SYNC);
      assert.deepEqual(addresses(), OTHERS);
      assert.ok(
        host.routes.listing().some((line) => line.startsWith("10.65.0.7/32")),
        "routes stay",
      );
      assert.equal(host.status?.counters.drift.device, 0);
      await dataplane.stop();
    });

    it("goes with the next try, when the first listing fails", async () => {
      const addressesOf = host.routes.addresses.bind(host.routes);
      // The first is the monitor's.
      const failing = [false, true, true];
      host.routes.addresses = () => {
        if (failing.shift() === true) throw new Error("EINTR");
        return addressesOf();
      };
      await send(dataplane, peer("a"), plain("b"), IN_SYNC);
      await host.advance(1000);
      assert.deepEqual([failing, addresses()], [[], OTHERS]);
      await dataplane.stop();
    });

    it("of IPv6 goes too where there is another peering address by now", async () => {
      await send(dataplane, peering("10.0.0.8", "fd00::8"), peer("a"), IN_SYNC);
      assert.deepEqual(
        addresses().filter((text) => text.startsWith("5 ")),
        ["5 10.0.0.8/32 link", "5 fd00::8/128 link"],
      );
      await dataplane.stop();
    });
  });

  it("leaves what does not say that it is ours, on a kernel that forgets it", async () => {
    host.routes.forgetsAddressProtocols = true;
    await send(dataplane, peering("10.0.0.9"), peer("a"), IN_SYNC);
    await dataplane.stop();
    dataplane = host.start();
    await send(dataplane, peer("a"), IN_SYNC);
    assert.deepEqual(addresses(), ["5 10.0.0.9/32 link"]);
    await dataplane.stop();
  });

  it("leaves other addresses alone, and all of them where no peering address was ever asked for", async () => {
    host.routes.addAddress(DEVICE, "169.254.1.1/32", "link");
    host.routes.addAddress(DEVICE, "fe80::1/64", "link");
    host.routes.addAddress(DEVICE, "10.1.0.1/24", "universe");
    const all = addresses();
    await send(dataplane, peer("a"), plain("b"), IN_SYNC);
    assert.deepEqual(addresses(), all);
    await send(dataplane, peering("10.0.0.9"));
    assert.deepEqual(addresses(), ["5 10.0.0.9/32 link", "5 10.1.0.1/24 universe", "5 fe80::1/64 link"]);
    await dataplane.stop();
  });

  it("repairs an address that somebody else took away, and counts it as drift", async () => {
    await send(dataplane, peering("10.0.0.9"), peer("a"), IN_SYNC);
    host.routes.moveAddress("10.0.0.9/32", undefined);
    assert.deepEqual(
      (await dataplane.inspect()).differences.map(({ detail, name, what }) => `${name} ${what} ${detail}`),
      ["calia missing address 10.0.0.9/32"],
    );
    await host.advance(500);
    assert.deepEqual(addresses(), ["5 10.0.0.9/32 link"]);
    assert.equal(host.status?.counters.drift.device, 1);
    await dataplane.stop();
  });

  it("does without an address of IPv6 where that is off on an interface, says so once, and gives it when it is on", async () => {
    host.routes.withoutIpv6.add(DEVICE);
    await send(dataplane, peering("10.0.0.9", "fd00::9"), peer("a"), peer("b"), IN_SYNC);
    assert.deepEqual(addresses(), ["5 10.0.0.9/32 link", "6 10.0.0.9/32 link", "6 fd00::9/128 link"]);
    assert.equal(host.status?.phase, "in-sync");
    await host.advance(200_000);
    const told = host.logs.filter((line) => line.includes("No peering address of IPv6 on calia"));
    assert.deepEqual([told.length, host.status?.counters.drift.device], [1, 0]);
    host.routes.withoutIpv6.clear();
    await host.advance(100_000);
    assert.deepEqual(addresses().slice(0, 2), ["5 10.0.0.9/32 link", "5 fd00::9/128 link"]);
    assert.equal(host.status?.counters.drift.device, 0);
    await dataplane.stop();
  });

  it("R22: writes no address with RouteSyncDisabled", async () => {
    await dataplane.stop();
    dataplane = host.start({ RouteSyncDisabled: "true" });
    await send(dataplane, peering("10.0.0.9"), peer("a"), IN_SYNC);
    assert.deepEqual(addresses(), []);
    await dataplane.stop();
  });

  it("keeps the BGP daemon's routes on the interface of a peer, for as long as it is one", async () => {
    await send(dataplane, peer("a"), plain("b"), IN_SYNC);
    for (const device of [DEVICE, OTHER])
      host.routes.putRoute({ destination: `10.9.${device}.0/24`, device, via: "10.65.0.7", protocol: 12, metric: 32 });
    host.routes.putRoute({ destination: "10.8.0.0/24", device: DEVICE, protocol: 4, metric: 0 });
    dataplane.resync();
    await host.advance(500);
    const bird = "10.9.5.0/24 dev calia proto 12 metric 32 via 10.65.0.7";
    const others = (): string[] => host.routes.listing().filter((line) => !line.startsWith("10.65."));
    assert.deepEqual(others(), [bird]);
    await send(dataplane, plain("a"));
    assert.deepEqual(others(), []);
    await dataplane.stop();
  });
});
