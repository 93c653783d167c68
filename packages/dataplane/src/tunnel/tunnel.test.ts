import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { NetlinkError } from "@bulrush/netlink";
import type { DataplaneHandle } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { clusterRoute, encapsulation, IN_SYNC, tunnelEnd } from "../testing/messages.ts";
import { ELM, ELM_BLOCK, FIR, MAC_A, MAC_B, MAC_C, oakHost, ON, OWN, toElm } from "../testing/vxlan-ends.ts";

describe("VXLAN", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  const start = (settings: Readonly<Record<string, string>> = {}): void => {
    dataplane = host.start({ FelixHostname: "oak", ...settings });
  };
  const device = () => host.routes.link("vxlan.calico");
  const routes = (): readonly string[] => host.routes.listing();

  beforeEach(() => {
    host = oakHost();
  });

  describe("device", () => {
    it("is made of the settings, the own end and the parent device, with its one address", async () => {
      start();
      await host.send(dataplane, ON, OWN, IN_SYNC);
      const { kind, mac, mtu, name, up, vxlan } = device() ?? assert.fail("no device");
      assert.deepEqual([name, kind, mac, mtu, up], ["vxlan.calico", "vxlan", MAC_A, 1450, true]);
      const off = { learning: false, l2miss: false, gbp: false, external: false };
      assert.deepEqual(vxlan, { vni: 4096, port: 4789, local: "192.168.0.1", parent: 2, ...off });
      const addresses = host.routes.addresses().filter((known) => known.device === device()?.index);
      assert.deepEqual(
        addresses.map(({ address }) => address),
        ["10.65.0.0/32"],
      );
      assert.equal(host.status?.phase, "in-sync");
    });

    it("is not there before pools ask for it, before its own end is known, and before the parent device has its address", async () => {
      start();
      await host.send(dataplane, OWN, ELM, ELM_BLOCK, IN_SYNC);
      assert.equal(device(), undefined);
      await host.advance(1000);
      await host.send(dataplane, { msg: "VXLANTunnelEndpointRemove", node: "oak" }, ON);
      assert.equal(device(), undefined);
      await host.send(dataplane, tunnelEnd("oak", `10.65.0.0, ${MAC_A}, 192.168.9.9`));
      await host.advance(1000);
      assert.equal(device(), undefined);
      assert.deepEqual(routes(), []);
      host.routes.addAddress(2, "192.168.9.9/24");
      await host.advance(1000);
      assert.deepEqual(device()?.vxlan?.local, "192.168.9.9");
      assert.deepEqual(routes(), ["10.65.1.0/26 dev vxlan.calico proto 80 metric 0 via 10.65.1.0 onlink mtu 1450"]);
    });

    const changes: readonly (readonly [what: string, settings: Record<string, string>, own: typeof OWN])[] = [
      ["identifier", { VXLANVNI: "4097" }, OWN],
      ["port", { VXLANPort: "4790" }, OWN],
      ["MAC address", {}, tunnelEnd("oak", `10.65.0.0, ${MAC_C}, 192.168.0.1`)],
    ];
    for (const [what, settings, own] of changes)
      it(`is made anew at a start with another ${what}, and all that was on it`, async () => {
        start();
        await host.send(dataplane, ON, OWN, ELM, ELM_BLOCK, IN_SYNC);
        const [before, hadRoutes] = [device()?.index, routes()];
        await dataplane.stop();
        host.routes.writes.length = 0;
        start(settings);
        await host.send(dataplane, ON, own, ELM, ELM_BLOCK, IN_SYNC);
        await host.advance(1000);
        assert.deepEqual(host.routes.writes.slice(0, 2), ["delete-link vxlan.calico", "add-vxlan vxlan.calico"]);
        assert.notEqual(device(), undefined);
        assert.deepEqual([before === undefined, routes()], [false, hadRoutes]);
        assert.equal(host.routes.neighbourListing().length, 2);
      });

    it("is bound to no device where the host's address is on the loopback device, and takes the same subnet too", async () => {
      const routed = new FakeHost();
      routed.routes.setLink(1, "lo");
      routed.routes.setLink(2, "eth0");
      routed.routes.addAddress(1, "192.168.0.1/32");
      const running = routed.start({ FelixHostname: "oak" });
      const near = clusterRoute("10.65.1.0/26", { ...toElm, same_subnet: true });
      await routed.send(running, ON, OWN, ELM, near, IN_SYNC);
      const link = routed.routes.link("vxlan.calico");
      assert.deepEqual([link?.vxlan?.local, link?.vxlan?.parent], ["192.168.0.1", undefined]);
      assert.deepEqual(
        routed.routes.listing().filter((line) => line.startsWith("10.65.1.0/26")),
        ["10.65.1.0/26 dev vxlan.calico proto 80 metric 0 via 10.65.1.0 onlink mtu 1450"],
      );
      await running.stop();
    });

    it("is adopted as it is at a restart: nothing is written", async () => {
      start();
      await host.send(dataplane, ON, OWN, ELM, ELM_BLOCK, IN_SYNC);
      await dataplane.stop();
      host.routes.writes.length = 0;
      start();
      await host.send(dataplane, ON, OWN, ELM, ELM_BLOCK, IN_SYNC);
      await host.advance(60_000);
      assert.deepEqual(host.routes.writes, []);
    });

    it("gets another address, and loses others", async () => {
      start();
      await host.send(dataplane, ON, OWN, IN_SYNC);
      const index = device()?.index ?? 0;
      host.routes.addAddress(index, "10.9.9.9/32");
      await host.advance(1000);
      await host.send(dataplane, tunnelEnd("oak", `10.65.0.8, ${MAC_A}, 192.168.0.1`));
      await host.advance(1000);
      const addresses = host.routes.addresses().filter((known) => known.device === index);
      assert.deepEqual(
        addresses.map(({ address }) => address),
        ["10.65.0.8/32"],
      );
    });

    it("is made again within 10 s when somebody deletes it without a word, and that is counted", async () => {
      start();
      await host.send(dataplane, ON, OWN, ELM, ELM_BLOCK, IN_SYNC);
      host.routes.removeLink(device()?.index ?? 0);
      await host.advance(11_000);
      assert.notEqual(device(), undefined);
      assert.equal(routes().length, 1);
      assert.equal(host.routes.neighbourListing().length, 2);
    });

    it("goes with its own end, whose address may be another host's then, and comes back with it", async () => {
      start();
      await host.send(dataplane, ON, OWN, ELM, ELM_BLOCK, IN_SYNC);
      await host.send(dataplane, { msg: "VXLANTunnelEndpointRemove", node: "oak" });
      await host.advance(1000);
      assert.deepEqual([device(), host.status?.phase], [undefined, "in-sync"]);
      await host.send(dataplane, tunnelEnd("oak", `10.65.0.9, ${MAC_A}, 192.168.0.1`));
      await host.advance(1000);
      const addresses = host.routes.addresses().filter((known) => known.device === device()?.index);
      assert.deepEqual(
        addresses.map(({ address }) => address),
        ["10.65.0.9/32"],
      );
    });

    it("goes when no pool asks for it any more", async () => {
      start();
      await host.send(dataplane, ON, OWN, ELM, ELM_BLOCK, IN_SYNC);
      await dataplane.stop();
      start();
      await host.send(dataplane, encapsulation(), OWN, ELM, ELM_BLOCK, IN_SYNC);
      await host.advance(1000);
      assert.equal(device(), undefined);
      assert.deepEqual(routes(), []);
    });

    it("is not given up when it cannot be deleted at first, and that is told until it is gone", async () => {
      start();
      await host.send(dataplane, ON, OWN, ELM, ELM_BLOCK, IN_SYNC);
      const apply = host.routes.apply.bind(host.routes);
      let refusals = 5;
      host.routes.apply = (operations) => {
        const [operation] = operations;
        if (operation?.kind !== "delete-link" || refusals === 0) return apply(operations);
        refusals--;
        const error = new NetlinkError("EBUSY", {
          code: "NETLINK_REFUSED",
          op: "Delete link",
          errno: 16,
          errnoName: "EBUSY",
        });
        return [{ index: 0, operation, error }];
      };
      await host.send(dataplane, encapsulation());
      await host.advance(100);
      assert.deepEqual([device() === undefined, host.status?.phase], [false, "retrying"]);
      await host.advance(20_000);
      assert.deepEqual([refusals, device(), host.status?.phase], [0, undefined, "in-sync"]);
    });

    const mtus: readonly (readonly [what: string, settings: Record<string, string>, mtu: number])[] = [
      ["the lowest of the interfaces that are up and look like hardware, less 50", {}, 1350],
      ["what is set", { VXLANMTU: "1234" }, 1234],
      ["1460 less 50, when no interface matches", { MTUIfacePattern: "^nothing" }, 1410],
      ["that of the interfaces that match", { MTUIfacePattern: "^bond" }, 950],
    ];
    for (const [what, settings, mtu] of mtus)
      it(`V4, V7: its MTU is ${what}`, async () => {
        host.routes.setLink(3, "eth1", true, 1400);
        host.routes.setLink(4, "eth2", false, 1300);
        host.routes.setLink(5, "bond0", true, 1000);
        start(settings);
        await host.send(dataplane, ON, OWN, IN_SYNC);
        assert.equal(device()?.mtu, mtu);
      });

    it("V4: its MTU follows the host's, and that of its routes", async () => {
      start();
      await host.send(dataplane, ON, OWN, ELM, ELM_BLOCK, IN_SYNC);
      await host.advance(1000);
      host.routes.setLink(2, "eth0", true, 1400);
      await host.advance(1000);
      assert.equal(device()?.mtu, 1350);
      assert.deepEqual(routes(), ["10.65.1.0/26 dev vxlan.calico proto 80 metric 0 via 10.65.1.0 onlink mtu 1350"]);
    });

    it("is one for each family, with an MTU 70 below the host's for IPv6", async () => {
      host.routes.addAddress(2, "fd00::1/64");
      start();
      const both = tunnelEnd("oak", `10.65.0.0, ${MAC_A}, 192.168.0.1`, `fd65::, ${MAC_C}, fd00::1`);
      const peer = tunnelEnd("elm", undefined, `fd65:0:0:1::, ${MAC_B}, fd00::2`);
      const route = clusterRoute("fd65:0:0:1::/122", { dst_node_name: "elm", dst_node_ip: "fd00::2" });
      await host.send(
        dataplane,
        encapsulation({ vxlan_enabled: true, vxlan_enabled_v6: true }),
        both,
        peer,
        route,
        IN_SYNC,
      );
      await host.advance(1000);
      const { mtu, vxlan } = host.routes.link("vxlan-v6.calico") ?? assert.fail("no device");
      assert.deepEqual([mtu, vxlan?.local], [1430, "fd00::1"]);
      assert.deepEqual(routes(), [
        "fd65:0:0:1::/122 dev vxlan-v6.calico proto 80 metric 1024 via fd65:0:0:1:: onlink mtu 1430",
      ]);
      assert.deepEqual(host.routes.neighbourListing(), [
        `fd65:0:0:1:: dev vxlan-v6.calico ${MAC_B}`,
        `fdb ${MAC_B} dev vxlan-v6.calico to fd00::2`,
      ]);
    });
  });

  describe("entries of peers", () => {
    beforeEach(async () => {
      start();
      await host.send(dataplane, ON, OWN, ELM, FIR, IN_SYNC);
      await host.advance(1000);
    });

    it("are a neighbour and a forwarding entry for each", () => {
      assert.deepEqual(host.routes.neighbourListing(), [
        `10.65.1.0 dev vxlan.calico ${MAC_B}`,
        `10.65.2.0 dev vxlan.calico ${MAC_C}`,
        `fdb ${MAC_B} dev vxlan.calico to 192.168.0.2`,
        `fdb ${MAC_C} dev vxlan.calico to 172.16.0.3`,
      ]);
    });

    it("follow the peer, and go with it", async () => {
      await host.send(dataplane, tunnelEnd("elm", `10.65.1.0, ${MAC_B}, 192.168.0.9`), {
        msg: "VXLANTunnelEndpointRemove",
        node: "fir",
      });
      await host.advance(1000);
      assert.deepEqual(host.routes.neighbourListing(), [
        `10.65.1.0 dev vxlan.calico ${MAC_B}`,
        `fdb ${MAC_B} dev vxlan.calico to 192.168.0.9`,
      ]);
    });

    it("V2: two peers with one MAC have both neighbours, and no churn", async () => {
      await host.send(dataplane, tunnelEnd("fir", `10.65.2.0, ${MAC_B}, 172.16.0.3`));
      await host.advance(1000);
      assert.equal(host.routes.neighbourListing().length, 3);
      host.routes.writes.length = 0;
      await host.advance(60_000);
      assert.deepEqual(host.routes.writes, []);
    });

    it("V3: entries of others stay: not permanent ones, those without a MAC, those of other devices", async () => {
      const index = device()?.index ?? 0;
      host.routes.putNeighbour({ device: index, address: "10.9.9.1", mac: MAC_B, state: 2 });
      host.routes.putNeighbour({ device: index, address: "10.9.9.2", state: 0x80 });
      host.routes.putNeighbour({ device: 2, address: "10.9.9.3", mac: MAC_B, state: 0x80 });
      host.routes.putNeighbour({ device: index, address: "10.9.9.4", mac: MAC_B, state: 0x80 });
      await host.advance(11_000);
      const left = host.routes.neighbourListing().filter((line) => line.startsWith("10.9.9."));
      assert.deepEqual(
        left.map((line) => line.split(" ")[0]),
        ["10.9.9.1", "10.9.9.2", "10.9.9.3"],
      );
    });

    it("V3: are written in the end, though it fails at first", async () => {
      host.routes.failWritesOf = "10.65.3.0";
      await host.send(dataplane, tunnelEnd("ash", `10.65.3.0, 66:00:00:00:00:0d, 192.168.0.4`));
      await host.advance(3000);
      assert.equal(host.status?.phase, "retrying");
      host.routes.failWritesOf = undefined;
      await host.advance(15_000);
      assert.equal(host.routes.neighbourListing().length, 6);
      assert.equal(host.status?.phase, "in-sync");
    });
  });
});
