import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync } from "node:fs";
import { test } from "node:test";
import { must } from "@bulrush/base";
import { isAlreadyExists, isNotFound, NetlinkError } from "../errors.ts";
import { openNamespace, openOwnNamespace, withNetworkNamespace } from "../namespace.ts";
import { kernelTests } from "../testing/kernel-tests.ts";
import { otherNamespace } from "../testing/other-namespace.ts";
import type { Link } from "./link.ts";
import { openRouteConnection } from "./open-route-connection.ts";
import type { RouteOperation } from "./operation.ts";
import type { Route } from "./route.ts";
import type { RouteConnection } from "./route-connection.ts";
import type { VxlanInfo } from "./vxlan.ts";

function makeVeth(connection: RouteConnection, name: string): Link {
  connection.write({
    kind: "add-veth",
    veth: { name, up: true, mac: "66:00:00:00:00:01", peer: { name: `${name}p` } },
  });
  connection.write({ kind: "change-link", link: `${name}p`, change: { up: true } });
  connection.write({
    kind: "replace-address",
    address: { device: must(connection.link(name), name).index, address: "192.0.2.1/24" },
  });
  connection.write({
    kind: "replace-address",
    address: { device: must(connection.link(name), name).index, address: "fd00:1::1/64", noDad: true },
  });
  return must(connection.link(name), name);
}

/** Runs with a connection and a veth pair that are gone afterwards. */
function withVeth(run: (connection: RouteConnection, veth: Link) => void): void {
  const connection = openRouteConnection();
  const veth = makeVeth(connection, "v0");
  try {
    run(connection, veth);
  } finally {
    connection.write({ kind: "delete-link", link: "v0" });
    connection.close();
  }
}

function wantRoute(routes: readonly Route[], destination: string): Partial<Route> {
  const { flags: _flags, ...route } = must(
    routes.find((one) => one.destination === destination),
    destination,
  );
  return route;
}

kernelTests(import.meta.filename, () => {
  for (const [family, local, mtu] of [
    [4, "192.0.2.1", 1450],
    [6, "fd00::1", 1430],
  ] as const)
    test(`a VXLAN device over IPv${family} is made, listed with all that it was made of, and has forwarding entries`, () => {
      withVeth((connection, veth) => {
        const settings = { vni: 4096, port: 4790, local, parent: veth.index } as const;
        const mac = "66:00:00:00:00:09";
        connection.write({ kind: "add-vxlan", vxlan: { name: "vx", mac, mtu, up: true, ...settings } });
        const link = connection.link("vx");
        assert.ok(link !== undefined);
        const off = { learning: false, l2miss: false, gbp: false, external: false };
        assert.deepEqual([link.kind, link.mtu, link.mac, link.up], ["vxlan", mtu, mac, true]);
        assert.deepEqual(link.vxlan, { ...settings, ...off });
        assert.deepEqual(connection.links().find(({ name }) => name === "vx")?.vxlan, link.vxlan);
        const remote = family === 4 ? "192.0.2.9" : "fd00::9";
        const entry = { device: link.index, address: remote, mac: "66:00:00:00:00:08", forwarding: true };
        connection.write({ kind: "replace-neighbour", neighbour: entry });
        const listed = connection.neighbours({ device: link.index, forwarding: true });
        assert.deepEqual(
          listed.map(({ address, mac: at, state }) => [address, at, state]),
          [[remote, entry.mac, 0x80]],
        );
        connection.write({ kind: "delete-neighbour", neighbour: entry });
        assert.deepEqual(connection.neighbours({ device: link.index, forwarding: true }), []);
        connection.write({ kind: "delete-link", link: "vx" });
        assert.equal(connection.link("vx"), undefined);
        connection.write({ kind: "add-vxlan", vxlan: { name: "vx", vni: 1, port: 4789, learning: true } });
        assert.deepEqual(connection.link("vx")?.vxlan, { ...off, vni: 1, port: 4789, learning: true });
        connection.write({ kind: "delete-link", link: "vx" });
      });
    });

  test("a VXLAN device that somebody else made is listed with what we never ask for", () => {
    withVeth((connection, veth) => {
      const made = (...words: readonly string[]): VxlanInfo | undefined => {
        execFileSync("ip", ["link", "add", "vx", "type", "vxlan", ...words]);
        const { vxlan } = connection.link("vx") ?? {};
        connection.write({ kind: "delete-link", link: "vx" });
        return vxlan;
      };
      const off = { learning: true, l2miss: false, gbp: false, external: false };
      const named = ["id", "7", "dstport", "4790"];
      const base = { ...off, vni: 7, port: 4790 };
      assert.deepEqual(made(...named), base);
      assert.deepEqual(made(...named, "l2miss"), { ...base, l2miss: true });
      assert.deepEqual(made(...named, "gbp"), { ...base, gbp: true });
      const group = { group: "239.1.1.1", parent: veth.index };
      assert.deepEqual(made(...named, "group", "239.1.1.1", "dev", "v0"), { ...base, ...group });
      assert.deepEqual(made("dstport", "4790", "external"), { ...base, vni: 0, learning: false, external: true });
    });
  });

  test("links are made, listed, changed and deleted", () => {
    withVeth((connection, veth) => {
      assert.equal(veth.kind, "veth");
      assert.equal(veth.mac, "66:00:00:00:00:01");
      assert.ok(veth.up && veth.running);
      const peer = must(connection.link("v0p"), "v0p");
      assert.equal(peer.index, veth.parent);
      assert.deepEqual(connection.link(veth.index), veth);
      assert.deepEqual(
        connection
          .links()
          .map(({ name }) => name)
          .sort(),
        ["lo", "v0", "v0p"],
      );
      connection.write({ kind: "change-link", link: veth.index, change: { mtu: 1450, mac: "66:00:00:00:00:02" } });
      const changed = must(connection.link("v0"), "v0");
      assert.deepEqual([changed.mtu, changed.mac, changed.up], [1450, "66:00:00:00:00:02", true]);
      connection.write({ kind: "change-link", link: "v0", change: { up: false } });
      assert.equal(connection.link("v0")?.up, false);
      connection.write({ kind: "change-link", link: peer.index, change: { name: "renamed" } });
      assert.equal(connection.link("renamed")?.index, peer.index);
      assert.equal(connection.link("v0p"), undefined);
      assert.equal(connection.link(99_999), undefined);
    });
  });

  test("addresses are added, listed and deleted", () => {
    withVeth((connection, veth) => {
      const own = connection.addresses({ device: veth.index, family: 4 });
      assert.deepEqual(own, [{ device: veth.index, address: "192.0.2.1/24", scope: "universe", flags: 0x80 }]);
      const address = { device: veth.index, address: "10.0.0.1/32", scope: "link" } as const;
      connection.write({ kind: "add-address", address });
      assert.throws(() => connection.write({ kind: "add-address", address }), isAlreadyExists);
      connection.write({ kind: "replace-address", address });
      const texts = connection.addresses({ device: veth.index }).map((one) => one.address);
      // The link-local address is the kernel's own.
      assert.deepEqual(texts.filter((text) => !text.startsWith("fe80")).sort(), [
        "10.0.0.1/32",
        "192.0.2.1/24",
        "fd00:1::1/64",
      ]);
      connection.write({ kind: "delete-address", address });
      assert.throws(() => connection.write({ kind: "delete-address", address }), isNotFound);
    });
  });

  test("routes read back as they were written", () => {
    withVeth((connection, veth) => {
      const device = veth.index;
      const routes: Route[] = [
        { destination: "10.0.0.1/32", type: "unicast", device, scope: "link", protocol: 3, table: 254, metric: 1024 },
        {
          destination: "10.1.0.0/26",
          type: "unicast",
          device,
          via: "198.51.100.1",
          onlink: true,
          scope: "universe",
          protocol: 80,
          table: 254,
          metric: 0,
          mtu: 1450,
        },
        { destination: "10.2.0.0/26", type: "blackhole", scope: "universe", protocol: 80, table: 254, metric: 0 },
        {
          destination: "10.3.0.0/26",
          type: "unicast",
          device,
          via: "192.0.2.7",
          source: "192.0.2.1",
          scope: "universe",
          protocol: 80,
          table: 254,
          metric: 5,
        },
        {
          destination: "0.0.0.0/0",
          type: "unicast",
          device,
          via: "192.0.2.9",
          scope: "universe",
          protocol: 80,
          table: 254,
          metric: 0,
        },
        { destination: "10.4.0.0/16", type: "unreachable", scope: "universe", protocol: 80, table: 254, metric: 0 },
        {
          destination: "10.5.0.0/16",
          type: "unicast",
          device,
          via: "fd00:1::9",
          scope: "universe",
          protocol: 80,
          table: 254,
          metric: 0,
        },
        {
          destination: "10.6.0.0/16",
          type: "unicast",
          scope: "universe",
          protocol: 80,
          table: 254,
          metric: 0,
          hops: [
            { device, weight: 1, via: "192.0.2.7" },
            { device, weight: 3, via: "192.0.2.8" },
          ],
        },
        {
          destination: "fd01::1/128",
          type: "unicast",
          device,
          scope: "universe",
          protocol: 80,
          table: 254,
          metric: 1024,
        },
        {
          destination: "fd02::/64",
          type: "unicast",
          device,
          via: "fd00:1::9",
          scope: "universe",
          protocol: 80,
          table: 254,
          metric: 512,
        },
      ];
      assert.deepEqual(connection.apply(routes.map((route) => ({ kind: "add-route", route }))), []);
      const listed = connection.routes();
      for (const route of routes) assert.deepEqual(wantRoute(listed, route.destination), route);
      assert.deepEqual(connection.apply(routes.map((route) => ({ kind: "replace-route", route }))), []);
      assert.equal(connection.routes().length, listed.length);
      assert.deepEqual(connection.apply(routes.map((route) => ({ kind: "delete-route", route }))), []);
      assert.ok(connection.routes({ protocol: 80 }).length === 0);
    });
  });

  test("routes() filters by family, table, device and protocol", () => {
    withVeth((connection, veth) => {
      const device = veth.index;
      const add = (route: Route): void => connection.write({ kind: "add-route", route });
      add({ destination: "10.0.0.1/32", device, protocol: 80 });
      add({ destination: "10.0.0.2/32", device, protocol: 80, table: 1000 });
      add({ destination: "10.0.0.3/32", type: "blackhole", protocol: 3 });
      const of = (filter: Parameters<RouteConnection["routes"]>[0]): string[] =>
        connection
          .routes(filter)
          .map(({ destination }) => destination)
          .sort();
      assert.deepEqual(of({ protocol: 80 }), ["10.0.0.1/32"]);
      assert.deepEqual(of({ table: 1000 }), ["10.0.0.2/32"]);
      assert.deepEqual(of({ table: "all", protocol: 80 }), ["10.0.0.1/32", "10.0.0.2/32"]);
      assert.deepEqual(of({ family: 4, device }), ["10.0.0.1/32", "192.0.2.0/24"]);
      assert.deepEqual(of({ table: 77 }), [], "a table that does not exist is empty");
      assert.deepEqual(of({ device: 99_999 }), []);
      assert.deepEqual(connection.apply([{ kind: "delete-route", route: { destination: "10.0.0.3/32" } }]), []);
    });
  });

  test("apply() does what it can, and names what failed by index with the kernel's words", () => {
    withVeth((connection, veth) => {
      const good = (i: number): RouteOperation => ({
        kind: "add-route",
        route: { destination: `10.${i >> 8}.${i & 255}.1/32`, device: veth.index },
      });
      const operations = Array.from({ length: 1000 }, (_, i): RouteOperation => {
        if (i === 3) return { kind: "add-route", route: { destination: "10.0.0/8", device: veth.index } };
        if (i === 450) return { kind: "add-route", route: { destination: "10.9.9.9/32", via: "203.0.113.1" } };
        return i === 999 ? { kind: "delete-route", route: { destination: "203.0.113.0/24" } } : good(i);
      });
      const failures = connection.apply(operations);
      assert.deepEqual(
        failures.map(({ index, error }) => [index, error.code, error.errnoName]),
        [
          [3, "NETLINK_ARGUMENT", ""],
          [450, "NETLINK_REFUSED", "ENETUNREACH"],
          [999, "NETLINK_REFUSED", "ESRCH"],
        ],
      );
      assert.match(failures[1]?.error.extAck ?? "", /invalid gateway/);
      assert.equal(connection.routes({ protocol: 3 }).length, 997);
      assert.ok(isNotFound(failures[2]?.error));
    });
  });

  test("neighbours are replaced, listed and deleted; other entries are told apart by their state", () => {
    withVeth((connection, veth) => {
      const neighbour = { device: veth.index, address: "192.0.2.7", mac: "66:00:00:00:00:07" };
      connection.write({ kind: "replace-neighbour", neighbour });
      connection.write({ kind: "replace-neighbour", neighbour: { ...neighbour, mac: "66:00:00:00:00:08" } });
      connection.write({ kind: "add-neighbour", neighbour: { ...neighbour, address: "fd00:1::7" } });
      assert.throws(() => connection.write({ kind: "add-neighbour", neighbour }), isAlreadyExists);
      const permanent = connection.neighbours({ device: veth.index }).filter(({ state }) => state === 0x80);
      assert.deepEqual(permanent, [
        { device: veth.index, state: 0x80, address: "192.0.2.7", mac: "66:00:00:00:00:08" },
        { device: veth.index, state: 0x80, address: "fd00:1::7", mac: "66:00:00:00:00:07" },
      ]);
      connection.write({ kind: "delete-neighbour", neighbour: { device: veth.index, address: "192.0.2.7" } });
      assert.throws(
        () => connection.write({ kind: "delete-neighbour", neighbour: { device: veth.index, address: "192.0.2.7" } }),
        isNotFound,
      );
    });
  });

  test("a connection works in another namespace, and a veth's peer and a link move there", async () => {
    const other = await otherNamespace();
    const namespaceFd = openNamespace(other.path);
    const here = openRouteConnection();
    const there = openRouteConnection({ namespace: other.path });
    const thereToo = openRouteConnection({ namespace: namespaceFd });
    here.write({ kind: "add-veth", veth: { name: "out", peer: { name: "in", namespaceFd } } });
    assert.equal(there.link("in")?.kind, "veth");
    assert.equal(here.link("in"), undefined);
    here.write({ kind: "add-veth", veth: { name: "a", peer: { name: "b" } } });
    here.write({ kind: "change-link", link: "b", change: { namespaceFd } });
    assert.equal(thereToo.link("b")?.up, false);
    assert.deepEqual(
      there
        .links()
        .map(({ name }) => name)
        .sort(),
      ["b", "in", "lo"],
    );
    here.write({ kind: "delete-link", link: "a" });
    assert.equal(there.link("b"), undefined);
    here.write({ kind: "delete-link", link: "out" });
    for (const connection of [here, there, thereToo]) connection.close();
    closeSync(namespaceFd);
    other.done();
  });

  test("withNetworkNamespace() comes back after a throw, and fails for what is no namespace", async () => {
    const other = await otherNamespace();
    const names = (): string[] => {
      const connection = openRouteConnection();
      const found = connection.links().map(({ name }) => name);
      connection.close();
      return found;
    };
    const connection = openRouteConnection();
    connection.write({ kind: "add-veth", veth: { name: "mark", peer: { name: "mark2" } } });
    assert.equal(
      withNetworkNamespace(other.path, () => names().includes("mark")),
      false,
    );
    assert.throws(
      () =>
        withNetworkNamespace(other.path, () => {
          throw new Error("inside");
        }),
      /inside/,
    );
    assert.ok(names().includes("mark"));
    const own = openOwnNamespace();
    assert.equal(
      withNetworkNamespace(other.path, () => withNetworkNamespace(own, () => names().includes("mark"))),
      true,
    );
    closeSync(own);
    for (const bad of ["/proc/self/ns/none", "/etc/passwd"])
      assert.throws(
        () => withNetworkNamespace(bad, () => 0),
        (error) => error instanceof NetlinkError && error.code === "NETLINK_SYSCALL" && error.errnoName !== "",
      );
    assert.ok(names().includes("mark"));
    connection.write({ kind: "delete-link", link: "mark" });
    connection.close();
    other.done();
  });
});
