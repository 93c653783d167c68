import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { DataplaneHandle } from "../handle.ts";
import type { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, ipSet, ipSetDelta } from "../testing/messages.ts";
import { POD, POLICY, PROFILE, SET, WORLD, refusal, badListing, smallHost } from "../testing/small-world.ts";

describe("createDataplane()", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  const writes = (): number => host.nft.transactions.length;
  const kinds = (): string[] => host.nft.transactions.at(-1)?.operations.map(({ kind }) => kind) ?? [];

  beforeEach(() => {
    host = smallHost();
    dataplane = host.start();
  });

  describe("gates", () => {
    it("writes and removes nothing before the datastore is in sync", async () => {
      host.routes.putRoute({ destination: "10.65.0.9/32", device: 5, protocol: 3, metric: 0 });
      await host.send(dataplane, SET, POLICY, PROFILE, POD);
      await host.advance(30_000);
      assert.deepEqual([writes(), host.nft.reads, host.routes.writes], [0, 0, []]);
      assert.deepEqual(host.sysctls.writes, []);
      assert.equal(host.status?.phase, "waiting-datastore");
      assert.equal(host.status?.ready, false);
    });

    it("writes networks ahead and then all in one batch, both families, once it is in sync", async () => {
      await host.send(dataplane, ...WORLD);
      const [ahead, all, ...more] = host.nft.transactions;
      assert.deepEqual(
        [...new Set(ahead?.operations.map(({ kind }) => kind))],
        ["add-table", "add-set", "add-elements"],
      );
      const families = all?.operations.flatMap((operation) =>
        operation.kind === "add-rule" ? operation.table.family : [],
      );
      assert.deepEqual([...new Set(families)].slice(0, 2), ["ip", "ip6"]);
      const later = new Set(more.flatMap(({ operations }) => operations.map(({ table }) => table.name)));
      assert.deepEqual([...later], ["calico-ended"], "that flows were judged, as packets came in until now");
      assert.equal(host.missing(WORLD), "");
      assert.deepEqual(host.routes.listing(), [
        "10.65.0.7/32 dev calia proto 3 metric 1024",
        "fd65::7/128 dev calia proto 3 metric 1024",
      ]);
      assert.deepEqual(host.routes.neighbourListing(), ["10.65.0.7 dev calia aa:bb:cc:dd:ee:01"]);
      assert.deepEqual([host.status?.phase, host.status?.ready], ["in-sync", true]);
    });

    it("ends as fatal when interfaces cannot be listed, and has written nothing", async () => {
      host.routes.links = () => {
        throw new Error("EPERM");
      };
      await host.send(dataplane, ...WORLD);
      assert.equal(host.fatal.length, 1);
      assert.match(host.fatal[0]?.message ?? "", /Follow interfaces/);
      assert.deepEqual([writes(), host.routes.writes], [0, []]);
    });

    it("has one table where IPv6 is off", async () => {
      await dataplane.stop();
      dataplane = host.start({ Ipv6Support: "false" });
      await host.send(dataplane, ...WORLD);
      assert.notEqual(host.table("ip"), undefined);
      assert.equal(host.table("ip6"), undefined);
      assert.deepEqual(host.routes.listing(), ["10.65.0.7/32 dev calia proto 3 metric 1024"]);
    });

    it("takes its settings from a ConfigUpdate that comes first", async () => {
      const config = new Map([["InterfacePrefix", "tap"]]);
      await host.send(dataplane, { msg: "ConfigUpdate", config, source_to_raw_config: new Map() }, IN_SYNC);
      assert.equal(host.missing([IN_SYNC], { InterfacePrefix: "tap" }), "");
    });
  });

  describe("messages and marks", () => {
    it("tells that it is in sync once, and endpoint statuses as they change", async () => {
      await host.send(dataplane, ...WORLD);
      await host.send(dataplane, ipSetDelta("s:web", ["10.65.0.8/32"]));
      await host.advance(1000);
      assert.deepEqual(
        host.messages.map(({ msg }) => msg),
        ["WorkloadEndpointStatusUpdate", "DataplaneInSync"],
      );
      assert.deepEqual(host.messages[0], { msg: "WorkloadEndpointStatusUpdate", id: POD.id, status: "up" });
    });

    it("reports a mark when all before it is in the kernel, not earlier", async () => {
      void dataplane.send([SET, POLICY, PROFILE, POD]);
      dataplane.mark(1);
      await host.settle();
      assert.deepEqual(host.applied, []);
      void dataplane.send([IN_SYNC]);
      dataplane.mark(2);
      await host.settle();
      assert.deepEqual(host.applied, [2]);
      assert.equal(host.missing(WORLD), "");
    });

    it("reports a mark at once, when nothing is to be done", async () => {
      await host.send(dataplane, ...WORLD);
      dataplane.mark(7);
      await host.settle();
      assert.deepEqual(host.applied, [7]);
    });

    it("does not report a mark while its messages wait for a permit or for a retry", async () => {
      await host.send(dataplane, ...WORLD);
      void dataplane.send([ipSetDelta("s:web", ["10.65.0.8/32"])]);
      dataplane.mark(1);
      await host.settle();
      assert.deepEqual(host.applied, []);
      host.nft.failRuns(refusal(), 3);
      await host.clock.advance(100);
      assert.deepEqual(host.applied, []);
      await host.advance(100);
      assert.deepEqual(host.applied, [1]);
    });

    it("send() resolves once the loop has taken the messages, also when it has stopped", async () => {
      const taken = dataplane.send(WORLD);
      await dataplane.stop();
      await taken;
    });
  });

  describe("throttle", () => {
    it("applies ten times a second at most, and all changes of a window together", async () => {
      await host.send(dataplane, ...WORLD);
      const before = writes();
      for (let i = 0; i < 50; i++) {
        await host.send(dataplane, ipSetDelta("s:web", [`10.64.${i}.1/32`]));
        await host.advance(20);
      }
      await host.advance(200);
      const count = writes() - before;
      assert.ok(count >= 9 && count <= 11, `Expected about 10 writes, got ${count}`);
      assert.equal(host.table()?.sets.get("cali40s-web")?.elements.size, 51);
    });
  });

  describe("stop and start", () => {
    beforeEach(async () => {
      await host.send(dataplane, ...WORLD);
      await dataplane.stop();
    });

    it("stop() leaves the kernel as it is, and no timer", () => {
      assert.equal(host.missing(WORLD), "");
      assert.equal(host.routes.listing().length, 2);
      assert.equal(host.clock.pending, 0);
    });

    it("writes nothing at a start with nothing changed", async () => {
      const before = [writes(), host.nft.generation(), host.routes.writes.length];
      dataplane = host.start();
      await host.send(dataplane, ...WORLD);
      assert.deepEqual([writes(), host.nft.generation(), host.routes.writes.length], before);
      assert.equal(host.status?.phase, "in-sync");
    });

    it("writes the differences alone at a start, and nothing before it is in sync", async () => {
      const before = writes();
      dataplane = host.start();
      await host.send(dataplane, ipSet("s:web", "NET", "10.65.0.2/32", "10.66.0.0/16", "10.65.0.9/32"), POLICY);
      await host.advance(20_000);
      assert.equal(writes(), before);
      await host.send(dataplane, PROFILE, POD, IN_SYNC);
      assert.equal(writes(), before + 1);
      assert.deepEqual(kinds(), ["add-elements"]);
    });

    it("reads again, when the first listing fails, before it writes anything", async () => {
      const before = writes();
      host.nft.failReads(badListing(), 2);
      dataplane = host.start();
      await host.send(dataplane, ...WORLD);
      await host.advance(100);
      assert.equal(writes(), before);
      assert.equal(host.status?.phase, "in-sync");
    });
  });

  it("sends a status as a sign of life every 10 s", async () => {
    await host.send(dataplane, ...WORLD);
    await host.advance(100);
    host.status = undefined;
    await host.advance(10_000);
    assert.notEqual(host.status, undefined);
  });
});
