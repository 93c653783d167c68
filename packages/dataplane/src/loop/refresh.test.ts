import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { DataplaneHandle } from "../handle.ts";
import type { FakeHost } from "../testing/fake-host.ts";
import { CALICO, WORLD, badListing, smallHost } from "../testing/small-world.ts";

describe("what the loop repairs", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  const writes = (): number => host.nft.transactions.length;

  beforeEach(() => {
    host = smallHost();
    dataplane = host.start();
  });

  beforeEach(async () => {
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
  });

  const refresh = (): Promise<void> => host.advance(90_000);

  it("reads back and writes nothing, when nothing changed", async () => {
    const before = writes();
    const reads = host.nft.reads;
    await refresh();
    assert.equal(host.nft.reads, reads + 3);
    assert.equal(writes(), before);
    assert.deepEqual(host.status?.counters.drift, {
      chain: 0,
      set: 0,
      map: 0,
      route: 0,
      neighbour: 0,
      device: 0,
      sysctl: 0,
    });
  });

  it("N5: lists once and writes nothing, when the listing fails; rules stay", async () => {
    const before = writes();
    const reads = host.nft.reads;
    host.nft.failReads(badListing());
    await refresh();
    assert.equal(host.nft.reads, reads + 1);
    assert.equal(writes(), before);
    assert.equal(host.missing(WORLD), "");
    assert.deepEqual(host.fatal, []);
  });

  it("N11: deletes an unknown set", async () => {
    const unknown = { name: "cali40unknown", key: ["ipv4_addr"], interval: false } as const;
    host.nft.edit((transaction) => transaction.addSet(CALICO, unknown));
    await refresh();
    assert.equal(host.table()?.sets.has("cali40unknown"), false);
    assert.equal(host.status?.counters.drift.set, 1);
  });

  it("N11: makes a set of the wrong type anew, with the right members and the rules that look it up", async () => {
    host.nft.edit((transaction) =>
      transaction
        .flushChain(CALICO, "filter-cali-pi-np/default/p")
        .deleteSet(CALICO, "cali40s-web")
        .addSet(CALICO, { name: "cali40s-web", key: ["inet_service"], interval: false }),
    );
    await refresh();
    assert.equal(host.missing(WORLD), "");
  });

  it("N12: restores members that somebody added, removed or flushed", async () => {
    const shape = { name: "cali40s-web", key: ["ipv4_addr"], interval: false } as const;
    host.nft.edit((transaction) => transaction.addElements(CALICO, shape, ["1.2.3.4"]));
    await refresh();
    assert.equal(host.missing(WORLD), "");
    host.nft.edit((transaction) => transaction.deleteElements(CALICO, shape, ["10.65.0.2"]));
    await refresh();
    assert.equal(host.missing(WORLD), "");
    host.nft.edit((transaction) => transaction.flushSet(CALICO, "cali40s-web-net"));
    await refresh();
    assert.equal(host.missing(WORLD), "");
    assert.equal(host.status?.counters.drift.set, 3);
  });

  it("restores a chain that somebody flushed", async () => {
    host.nft.edit((transaction) => transaction.flushChain(CALICO, "filter-cali-tw-calia"));
    await refresh();
    assert.equal(host.missing(WORLD), "");
    assert.equal(host.status?.counters.drift.chain, 1);
  });

  it("N15: builds a table anew that somebody deleted: chains, sets, members", async () => {
    host.nft.edit((transaction) => transaction.deleteTable(CALICO));
    await refresh();
    assert.equal(host.missing(WORLD), "");
  });

  it("restores routes and neighbours that somebody removed", async () => {
    host.routes.dropRoute({ destination: "10.65.0.7/32", metric: 1024 });
    await refresh();
    assert.equal(host.routes.listing().length, 2);
    assert.equal(host.status?.counters.drift.route, 1);
  });

  it("leaves foreign tables alone", async () => {
    host.nft.edit((transaction) => transaction.addTable({ family: "ip", name: "other" }));
    await refresh();
    assert.notEqual(host.nft.readTable("ip", "other"), undefined);
  });

  it("resync() reads back at once", async () => {
    host.nft.edit((transaction) => transaction.flushChain(CALICO, "filter-cali-tw-calia"));
    dataplane.resync();
    await host.advance(100);
    assert.equal(host.missing(WORLD), "");
  });

  it("does none, where the periods are zero", async () => {
    await dataplane.stop();
    dataplane = host.start({ NftablesRefreshInterval: "0", IpsetsRefreshInterval: "0" });
    await host.send(dataplane, ...WORLD);
    const reads = host.nft.reads;
    await host.advance(200_000);
    assert.equal(host.nft.reads, reads);
  });

  it("writes a route that somebody else deleted as soon as the kernel tells of it, and counts it", async () => {
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
    const [route] = host.routes.routes({ family: 4 });
    assert.ok(route !== undefined);
    host.routes.dropRoute(route);
    host.routes.emit({ kind: "route-gone", route });
    await host.settle();
    assert.equal(host.routes.listing().length, 2);
    assert.equal(host.status?.counters.drift.route, 1);
  });
});
