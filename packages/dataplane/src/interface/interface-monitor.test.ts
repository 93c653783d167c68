import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { ManualClock } from "@bulrush/base";
import { Interfaces } from "../manager/interfaces.ts";
import { FakeRoutes } from "../testing/fake-routes.ts";
import { InterfaceMonitor } from "./interface-monitor.ts";

describe("InterfaceMonitor", () => {
  let routes: FakeRoutes;
  let clock: ManualClock;
  let interfaces: Interfaces;
  let changes: string[];
  let touched: string[];
  let fatal: Error[];

  /** "cali1#5 up 10.0.0.1", sorted by name. */
  const seen = (): string[] =>
    [...interfaces.all()]
      .map(({ addresses, index, name, up }) => [`${name}#${index}`, up ? "up" : "down", ...addresses].join(" "))
      .sort();

  beforeEach(() => {
    routes = new FakeRoutes();
    clock = new ManualClock();
    interfaces = new Interfaces();
    changes = [];
    touched = [];
    fatal = [];
    interfaces.onChange.add((name) => changes.push(name));
  });

  const start = (): InterfaceMonitor => {
    const monitor = new InterfaceMonitor({
      kernel: { routes, openMonitor: (callbacks) => routes.openMonitor(callbacks) },
      clock,
      interfaces,
      isExcluded: (name) => name === "kube-ipvs0",
      onTouched: (name) => touched.push(name),
      onMissed: () => touched.push("all"),
      onAddressGone: ({ address }) => touched.push(address),
      onRoute: () => undefined,
      onFatal: (error) => fatal.push(error),
    });
    monitor.start();
    return monitor;
  };

  it("start() knows every link and address when it returns", () => {
    routes.setLink(2, "eth0");
    routes.setLink(5, "cali1", false);
    routes.addAddress(2, "192.168.0.7/24");
    start();
    assert.deepEqual(seen(), ["cali1#5 down", "eth0#2 up 192.168.0.7"]);
  });

  it("follows addresses, but not those of excluded interfaces", async () => {
    routes.setLink(2, "eth0");
    routes.setLink(3, "kube-ipvs0");
    start();
    routes.addAddress(2, "fd00::7/64");
    routes.addAddress(3, "10.96.0.1/32");
    assert.deepEqual(seen(), ["eth0#2 up fd00::7", "kube-ipvs0#3 up"]);
    routes.emit({ kind: "address-gone", address: { device: 2, address: "fd00::7/64" } });
    await clock.advance(99);
    assert.deepEqual(seen(), ["eth0#2 up fd00::7", "kube-ipvs0#3 up"]);
    await clock.advance(1);
    assert.deepEqual(seen(), ["eth0#2 up", "kube-ipvs0#3 up"]);
  });

  it("does not see an address go that is back within 100 ms", async () => {
    routes.setLink(2, "eth0");
    routes.addAddress(2, "192.168.0.7/24");
    start();
    changes.length = 0;
    for (let i = 0; i < 3; i++) {
      routes.emit({ kind: "address-gone", address: { device: 2, address: "192.168.0.7/24" } });
      await clock.advance(60);
      routes.addAddress(2, "192.168.0.7/24");
      await clock.advance(60);
    }
    await clock.advance(1000);
    assert.deepEqual(changes, []);
    assert.deepEqual(seen(), ["eth0#2 up 192.168.0.7"]);
  });

  it("takes a link that comes up at its word, and one that goes down after 100 ms", async () => {
    routes.setLink(5, "cali1", false);
    start();
    routes.setLink(5, "cali1", true);
    assert.deepEqual(seen(), ["cali1#5 up"]);
    routes.setLink(5, "cali1", false);
    await clock.advance(99);
    assert.deepEqual(seen(), ["cali1#5 up"]);
    await clock.advance(1);
    assert.deepEqual(seen(), ["cali1#5 down"]);
  });

  it("does not see a flap of less than 100 ms, but says that the interface was touched", async () => {
    routes.setLink(5, "cali1");
    start();
    changes.length = 0;
    routes.setLink(5, "cali1", false);
    await clock.advance(50);
    routes.setLink(5, "cali1", true);
    await clock.advance(1000);
    assert.deepEqual(changes, []);
    assert.deepEqual(touched, ["cali1", "cali1"]);
  });

  it("takes a rename as one name gone and one come", () => {
    routes.setLink(5, "tmp0");
    start();
    routes.setLink(5, "cali1");
    assert.deepEqual(seen(), ["cali1#5 up"]);
    assert.ok(touched.includes("tmp0"));
  });

  it("holds a name that two links claim, until one of them is left", () => {
    routes.setLink(5, "cali1");
    start();
    routes.setLink(9, "cali1");
    assert.deepEqual(seen(), ["cali1#5 up"]);
    routes.removeLink(5);
    assert.deepEqual(seen(), ["cali1#9 up"]);
  });

  it("resync() makes up for events that were lost", () => {
    routes.setLink(5, "cali1");
    const monitor = start();
    const lost = new FakeRoutes();
    Object.assign(routes, { links: () => lost.links(), addresses: () => lost.addresses() });
    lost.setLink(6, "cali2");
    monitor.resync();
    assert.deepEqual(seen(), ["cali2#6 up"]);
  });

  it("makes up for notices that the kernel has lost, and says that anything may have happened", () => {
    routes.setLink(2, "eth0");
    start();
    Object.assign(routes, { emit: () => undefined });
    routes.addAddress(2, "192.168.0.7/24");
    assert.deepEqual(seen(), ["eth0#2 up"]);
    touched.length = 0;
    routes.loseNotices();
    assert.deepEqual(seen(), ["eth0#2 up 192.168.0.7"]);
    assert.deepEqual(touched, ["all"]);
    assert.deepEqual(fatal, []);
  });

  it("says at once that the interface was touched when an address goes, as routes may have gone with it", () => {
    routes.setLink(2, "eth0");
    for (const address of ["192.168.0.7/24", "fd00::7/64"]) routes.addAddress(2, address);
    start();
    touched.length = 0;
    routes.moveAddress("fd00::7/64", undefined);
    assert.deepEqual(touched, ["fd00::7/64"], "IPv6 tells of each route");
    routes.moveAddress("192.168.0.7/24", undefined);
    assert.deepEqual(touched, ["fd00::7/64", "eth0", "192.168.0.7/24"]);
  });

  it("resync() in the middle of a flap does not make it seen", async () => {
    routes.setLink(2, "eth0");
    routes.addAddress(2, "192.168.0.7/24");
    const monitor = start();
    changes.length = 0;
    routes.moveAddress("192.168.0.7/24", undefined);
    await clock.advance(50);
    monitor.resync();
    await clock.advance(40);
    routes.addAddress(2, "192.168.0.7/24");
    await clock.advance(1000);
    assert.deepEqual(changes, []);
  });

  it("resync() finds an address that came, and lets one that went go after 100 ms", async () => {
    routes.setLink(2, "eth0");
    routes.addAddress(2, "192.168.0.7/24");
    const monitor = start();
    const addresses = routes.addresses.bind(routes);
    routes.addresses = () => [{ device: 2, address: "192.168.0.8/24" }];
    monitor.resync();
    assert.deepEqual(seen(), ["eth0#2 up 192.168.0.7 192.168.0.8"]);
    await clock.advance(100);
    assert.deepEqual(seen(), ["eth0#2 up 192.168.0.8"]);
    routes.addresses = addresses;
    monitor.resync();
    await clock.advance(100);
    assert.deepEqual(seen(), ["eth0#2 up 192.168.0.7"]);
    assert.equal(clock.pending, 0);
  });

  it("reports a broken monitor as fatal", () => {
    start();
    routes.breakMonitor();
    assert.equal(fatal.length, 1);
  });

  it("stop() leaves no timer and no subscription", async () => {
    routes.setLink(5, "cali1");
    routes.addAddress(5, "10.0.0.1/32");
    const monitor = start();
    routes.setLink(5, "cali1", false);
    routes.emit({ kind: "address-gone", address: { device: 5, address: "10.0.0.1/32" } });
    await monitor.stop();
    assert.equal(clock.pending, 0);
    routes.setLink(6, "cali2");
    assert.deepEqual(seen(), ["cali1#5 up 10.0.0.1"]);
  });
});
