import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { DataplaneHandle } from "../handle.ts";
import type { FakeHost } from "../testing/fake-host.ts";
import { workload } from "../testing/messages.ts";
import { POD, smallHost, WORLD } from "../testing/small-world.ts";

describe("R1, R2: a workload that is down by its owner's wish", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  beforeEach(() => {
    host = smallHost();
    host.routes.setLink(4, "calib");
    dataplane = host.start();
  });
  afterEach(() => dataplane.stop());

  const down = { ...POD, endpoint: { ...POD.endpoint, state: "inactive" } };
  const routes = (): string[] => host.routes.listing().map((route) => route.replace(/ proto .*/, ""));

  it("has no routes, of either family, until it is up again", async () => {
    await host.send(dataplane, ...WORLD, down);
    assert.deepEqual(routes(), []);
    await host.send(dataplane, POD);
    await host.advance(1000);
    assert.deepEqual(routes(), ["10.65.0.7/32 dev calia", "fd65::7/128 dev calia"]);
    await host.send(dataplane, down);
    await host.advance(1000);
    assert.deepEqual(routes(), []);
  });

  it("leaves its addresses to another one that has them too, though its interface is the newer one", async () => {
    const other = workload("b", { ipv4_nets: ["10.65.0.7/32"], ipv6_nets: ["fd65::7/128"] });
    await host.send(dataplane, ...WORLD, other);
    assert.deepEqual(routes(), ["10.65.0.7/32 dev calia", "fd65::7/128 dev calia"]);
    await host.send(dataplane, down);
    await host.advance(1000);
    assert.deepEqual(routes(), ["10.65.0.7/32 dev calib", "fd65::7/128 dev calib"]);
  });
});
