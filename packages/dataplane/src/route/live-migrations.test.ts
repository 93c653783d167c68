import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { DataplaneWorkloadEndpoint, ToDataplane } from "@bulrush/proto";
import type { DataplaneHandle } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, workload, workloadRemove } from "../testing/messages.ts";

const DEVICE = 5;
const NORMAL = ["10.65.0.7/32 dev calia proto 3 metric 1024"];
const ELEVATED = ["10.65.0.7/32 dev calia proto 3 metric 512"];

describe("R23: LiveMigrations", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  const machine = (role?: DataplaneWorkloadEndpoint["live_migration_role"]): ToDataplane =>
    workload("a", {
      ipv4_nets: ["10.65.0.7/32"],
      mac: "ee:00:00:00:00:01",
      ...(role === undefined ? {} : { live_migration_role: role }),
    });
  const send = async (...messages: readonly ToDataplane[]): Promise<void> => {
    await host.send(dataplane, ...messages);
    await host.advance(300);
  };
  const routes = (): string[] => host.routes.listing();
  const arrive = async (): Promise<void> => {
    host.announced.add(DEVICE);
    await host.advance(500);
  };

  beforeEach(() => {
    host = new FakeHost();
    host.routes.setLink(DEVICE, "calia");
    dataplane = host.start();
  });

  it("a machine that had come before a start keeps its elevated route over it", async () => {
    await send(machine("target"), IN_SYNC);
    await arrive();
    assert.deepEqual(routes(), ELEVATED);
    await dataplane.stop();
    const before = host.routes.writes.length;
    dataplane = host.start();
    await send(machine("target"), IN_SYNC);
    await host.advance(30_000);
    assert.deepEqual(routes(), ELEVATED);
    assert.deepEqual(
      host.routes.writes.slice(before).filter((write) => write.includes("route")),
      [],
    );
    await send(machine());
    assert.deepEqual(routes(), ELEVATED);
    await host.advance(31_000);
    assert.deepEqual(routes(), NORMAL);
  });

  it("tells once that the machine has come, with its addresses", async () => {
    const arrivals = (): unknown[] => host.messages.filter(({ msg }) => msg === "LiveMigrationArrival");
    await send(machine("target"), IN_SYNC);
    assert.deepEqual(arrivals(), []);
    await arrive();
    await arrive();
    const { id } = workload("a");
    assert.deepEqual(arrivals(), [{ msg: "LiveMigrationArrival", id, addresses: ["10.65.0.7"] }]);
    await send(machine());
    await send(machine("target"));
    await arrive();
    assert.equal(arrivals().length, 2);
    host.isDeaf = true;
    await send(workloadRemove("a"), machine("target"));
    assert.equal(arrivals().length, 2, "nobody knows whether it has come");
  });

  it("the target has no route and no neighbour until the machine says that it is here, and an elevated one then", async () => {
    await send(machine("target"), IN_SYNC);
    await host.advance(60_000);
    assert.deepEqual([routes(), host.routes.neighbourListing()], [[], []]);
    await arrive();
    assert.deepEqual(routes(), ELEVATED);
    assert.equal(host.routes.neighbourListing().length, 1);
    await host.advance(60_000);
    assert.deepEqual(routes(), ELEVATED);
    await dataplane.stop();
  });

  it("the route is elevated for 30 s after the end, and normal then; no flow is lost", async () => {
    await send(machine("target"), IN_SYNC);
    await arrive();
    await send(machine("none"));
    await host.advance(29_000);
    assert.deepEqual(routes(), ELEVATED);
    await host.advance(2000);
    assert.deepEqual(routes(), NORMAL);
    assert.deepEqual(host.flows.deleted, []);
    await dataplane.stop();
  });

  it("a target that nobody can listen to has its normal route at once, until it goes", async () => {
    host.isDeaf = true;
    await send(machine("target"), IN_SYNC);
    assert.deepEqual(routes(), NORMAL);
    await send(machine("target"));
    await host.advance(60_000);
    assert.deepEqual(routes(), NORMAL);
    await send(machine("none"));
    await host.advance(60_000);
    assert.deepEqual(routes(), NORMAL);
    await send(workloadRemove("a"));
    assert.deepEqual(routes(), []);
    await dataplane.stop();
  });

  it("a migration that failed leaves no route behind", async () => {
    await send(machine("target"), IN_SYNC);
    await send(workloadRemove("a"));
    await arrive();
    assert.deepEqual(routes(), []);
    await dataplane.stop();
  });

  it("a target whose migration is over before it said a word has its normal route at once", async () => {
    await send(machine("target"), IN_SYNC);
    await send(machine());
    assert.deepEqual(routes(), NORMAL);
    await dataplane.stop();
  });

  for (const [what, after, wanted] of [
    ["moves away again", () => machine("source"), NORMAL],
    ["goes", () => workloadRemove("a"), []],
  ] as const)
    it(`what was elevated is forgotten when the machine ${what}`, async () => {
      await send(machine("target"), IN_SYNC);
      await arrive();
      await send(after());
      assert.deepEqual(routes(), wanted);
      await dataplane.stop();
    });

  it("the source keeps its route, and a machine that comes back is a target again", async () => {
    await send(machine("source"), IN_SYNC);
    assert.deepEqual(routes(), NORMAL);
    await send(machine("target"));
    assert.deepEqual(routes(), []);
    await arrive();
    assert.deepEqual(routes(), ELEVATED);
    await dataplane.stop();
  });

  it("listens at the device that the interface has now", async () => {
    await send(machine("target"), IN_SYNC);
    host.routes.removeLink(DEVICE);
    host.routes.setLink(9, "calia");
    await host.advance(1000);
    await arrive();
    assert.deepEqual(routes(), []);
    host.announced.add(9);
    await host.advance(1000);
    assert.deepEqual(routes(), ELEVATED);
    await dataplane.stop();
  });

  it("priorities and the time are settings", async () => {
    await dataplane.stop();
    dataplane = host.start({ IPv4ElevatedRoutePriority: "7", LiveMigrationRouteConvergenceTime: "5" });
    await send(machine("target"), IN_SYNC);
    await arrive();
    assert.deepEqual(routes(), ["10.65.0.7/32 dev calia proto 3 metric 7"]);
    await send(machine());
    await host.advance(6000);
    assert.deepEqual(routes(), NORMAL);
    await dataplane.stop();
  });
});
