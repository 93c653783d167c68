import assert from "node:assert/strict";
import { test } from "node:test";
import { must } from "@bulrush/base";
import { kernelTests } from "../testing/kernel-tests.ts";
import { openRouteConnection } from "./open-route-connection.ts";
import { openRouteMonitor } from "./open-route-monitor.ts";
import type { RouteOperation } from "./operation.ts";
import type { RouteEvent, RouteMonitor, RouteMonitorOptions } from "./route-monitor.ts";

interface Watch {
  readonly events: RouteEvent[];
  readonly monitor: RouteMonitor;
  resyncs: number;
  /** Resolves when `condition` holds; asked after each callback. */
  readonly until: (condition: () => boolean) => Promise<void>;
}

function watch(groups: RouteMonitorOptions["groups"]): Watch {
  let check = (): void => {};
  const state: Watch = {
    events: [],
    resyncs: 0,
    monitor: openRouteMonitor({
      groups,
      onEvents: (events) => {
        state.events.push(...events);
        check();
      },
      onResync: () => {
        state.resyncs++;
        check();
      },
      onError: (error) => assert.fail(error),
    }),
    until: (condition) =>
      new Promise((resolve) => {
        check = () => {
          if (condition()) resolve();
        };
        check();
      }),
  };
  return state;
}

kernelTests(import.meta.filename, () => {
  test("openRouteMonitor() tells of links, addresses, routes and neighbours that come and go", async () => {
    const connection = openRouteConnection();
    const watching = watch(["links", "addresses", "routes", "neighbours"]);
    connection.write({ kind: "add-veth", veth: { name: "v0", up: true, peer: { name: "v1" } } });
    connection.write({ kind: "change-link", link: "v1", change: { up: true } });
    const device = must(connection.link("v0"), "v0").index;
    connection.write({ kind: "add-address", address: { device, address: "192.0.2.1/32" } });
    connection.write({ kind: "add-route", route: { destination: "10.0.0.1/32", device, protocol: 80 } });
    connection.write({ kind: "add-neighbour", neighbour: { device, address: "10.0.0.1", mac: "66:00:00:00:00:01" } });
    connection.write({ kind: "delete-route", route: { destination: "10.0.0.1/32" } });
    connection.write({ kind: "delete-link", link: "v0" });
    await watching.until(() => watching.events.some((event) => event.kind === "link-gone" && event.link.name === "v0"));
    const has = (match: (event: RouteEvent) => boolean): boolean => watching.events.some(match);
    assert.ok(has((event) => event.kind === "link" && event.link.name === "v0" && event.link.running));
    assert.ok(has((event) => event.kind === "address" && event.address.address === "192.0.2.1/32"));
    assert.ok(has((event) => event.kind === "route" && event.route.destination === "10.0.0.1/32"));
    assert.ok(has((event) => event.kind === "route-gone" && event.route.destination === "10.0.0.1/32"));
    assert.ok(has((event) => event.kind === "neighbour" && event.neighbour.mac === "66:00:00:00:00:01"));
    const local = watching.events.find(
      (event) => event.kind === "route" && event.route.table === 255 && event.route.type === "local",
    );
    assert.ok(local !== undefined, "addresses show as routes of the local table");
    assert.equal(watching.resyncs, 0);
    await watching.monitor.close();
    connection.close();
  });

  test("close() stops at once, twice too, and no callback comes after it", async () => {
    const connection = openRouteConnection();
    const watching = watch(["links"]);
    const started = performance.now();
    const closed = watching.monitor.close();
    connection.write({ kind: "change-link", link: "lo", change: { up: true } });
    await Promise.all([closed, watching.monitor.close()]);
    assert.ok(performance.now() - started < 900, "it was woken, not timed out");
    assert.deepEqual(watching.events, []);
    connection.close();
  });

  test("an overrun asks for a resync, and the monitor goes on", async () => {
    const connection = openRouteConnection();
    connection.write({ kind: "change-link", link: "lo", change: { up: true } });
    const watching = watch(["routes"]);
    // Nothing reads while this thread writes: more events than the buffer can hold (8 MiB, 800 bytes each).
    const operations = Array.from(
      { length: 15_000 },
      (_, i): RouteOperation => ({
        kind: "replace-route",
        route: { destination: `10.0.${i >> 8}.${i & 255}/32`, type: "blackhole" },
      }),
    );
    assert.deepEqual(connection.apply(operations), []);
    await watching.until(() => watching.resyncs > 0);
    connection.write({ kind: "add-route", route: { destination: "203.0.113.0/24", type: "blackhole" } });
    await watching.until(() =>
      watching.events.some((event) => event.kind === "route" && event.route.destination === "203.0.113.0/24"),
    );
    await watching.monitor.close();
    connection.close();
  });
});
