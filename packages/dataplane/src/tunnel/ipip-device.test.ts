import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { RouteUpdate, ToDataplane } from "@bulrush/proto";
import type { InspectableDataplane } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { clusterRoute, encapsulation, IN_SYNC } from "../testing/messages.ts";

const ON = encapsulation({ ipip_enabled: true });
const OFF = encapsulation({});
const own = (dst: string, fields: Partial<RouteUpdate> = {}): ToDataplane =>
  clusterRoute(dst, {
    types: ["LOCAL_TUNNEL"],
    ip_pool_type: "IPIP",
    tunnel_type: { ipip: true, vxlan: false, wireguard: false },
    ...fields,
  });

describe("IpipDevice", () => {
  let host: FakeHost;
  let dataplane: InspectableDataplane;

  const start = (settings: Record<string, string> = {}): void => {
    dataplane = host.start({ FelixHostname: "oak", ...settings });
  };
  const device = () => host.routes.link("tunl0");
  const addresses = (): string[] =>
    host.routes
      .addresses()
      .filter((known) => known.device === device()?.index)
      .map(({ address }) => address);

  beforeEach(() => {
    host = new FakeHost();
    host.routes.setLink(2, "eth0");
  });

  it("is made where pools ask for it, with its MTU and its one address", async () => {
    start();
    await host.send(dataplane, ON, own("10.65.0.0/32"), IN_SYNC);
    await host.advance(1000);
    const link = device() ?? assert.fail("no device");
    assert.deepEqual([link.kind, link.mtu, link.up, addresses()], ["ipip", 1480, true, ["10.65.0.0/32"]]);
    assert.equal(host.status?.phase, "in-sync");
    await dataplane.stop();
  });

  for (const [who, routes] of [
    ["Enabled", ["10.65.1.0/26 dev tunl0"]],
    ["EnabledNoEncapOnly", []],
    ["Disabled", []],
  ] as const)
    it(`is kept, and has its address, whoever writes the routes: ProgramClusterRoutes is ${who}`, async () => {
      start({ ProgramClusterRoutes: who });
      const far = { ip_pool_type: "IPIP", dst_node_name: "elm", dst_node_ip: "192.168.0.2" } as const;
      await host.send(dataplane, ON, own("10.65.0.0/32"), clusterRoute("10.65.1.0/26", far), IN_SYNC);
      await host.advance(1000);
      const listed = host.routes.listing().map((line) => line.split(" ").slice(0, 3).join(" "));
      assert.deepEqual([device()?.up, addresses(), listed], [true, ["10.65.0.0/32"], routes]);
      await dataplane.stop();
    });

  it("is brought up, where the kernel has made it, and loses other addresses", async () => {
    host.routes.setLink(7, "tunl0", false);
    host.routes.addAddress(7, "10.99.0.1/32");
    start();
    await host.send(dataplane, ON, own("10.65.0.0/32"), IN_SYNC);
    await host.advance(1000);
    assert.deepEqual([device()?.mtu, device()?.up, addresses()], [1480, true, ["10.65.0.0/32"]]);
    await host.send(dataplane, { msg: "RouteRemove", dst: "10.65.0.0/32" }, own("10.65.0.64/32"));
    await host.advance(1000);
    assert.deepEqual(addresses(), ["10.65.0.64/32"]);
    await dataplane.stop();
  });

  it("V4: its MTU follows the host's, but for one that is set", async () => {
    start();
    await host.send(dataplane, ON, IN_SYNC);
    await host.advance(1000);
    host.routes.setLink(2, "eth0", true, 1400);
    await host.advance(1000);
    assert.equal(device()?.mtu, 1380);
    await dataplane.stop();
    start({ IpInIpMtu: "1300" });
    await host.send(dataplane, ON, IN_SYNC);
    await host.advance(1000);
    assert.equal(device()?.mtu, 1300);
    await dataplane.stop();
  });

  it("has its address taken away when no pool asks for it any more, and is left alone otherwise", async () => {
    host.routes.setLink(7, "tunl0");
    start();
    await host.send(dataplane, ON, own("10.65.0.0/32"), IN_SYNC);
    await host.advance(1000);
    await host.send(dataplane, OFF);
    await host.advance(1000);
    assert.deepEqual([device()?.name, addresses()], ["tunl0", []]);
    await dataplane.stop();
  });

  it("is put right within 10 s when somebody changes it without a word, and that is counted and kept", async () => {
    start();
    await host.send(dataplane, ON, own("10.65.0.0/32"), IN_SYNC);
    await host.advance(1000);
    host.routes.moveAddress("10.65.0.0/32", undefined);
    await host.advance(11_000);
    assert.deepEqual(addresses(), ["10.65.0.0/32"]);
    assert.equal(host.status?.counters.drift.device, 1);
    const report = dataplane.inspect();
    await host.settle();
    const item = { kind: "device", name: "tunl0", what: "changed", detail: "address missing" };
    assert.deepEqual(
      (await report).repairs.map(({ items }) => items),
      [[item]],
    );
    await dataplane.stop();
  });

  it("is told once where the kernel has none, and holds nothing else back", async () => {
    host.routes.missingKinds.add("ipip");
    start();
    await host.send(dataplane, ON, own("10.65.0.0/32"), IN_SYNC);
    await host.advance(40_000);
    assert.equal(host.status?.phase, "in-sync");
    assert.equal(host.logs.filter((line) => line.includes("no IP in IP")).length, 1);
    await dataplane.stop();
  });

  it("R22: is not touched where routes are not ours", async () => {
    start({ RouteSyncDisabled: "true" });
    await host.send(dataplane, ON, own("10.65.0.0/32"), IN_SYNC);
    await host.advance(1000);
    assert.equal(device(), undefined);
    await dataplane.stop();
  });
});
