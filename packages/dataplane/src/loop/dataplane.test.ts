import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { NFT_ERROR_CODES, NftError } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneHandle } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import {
  IN_SYNC,
  ipSet,
  ipSetDelta,
  policy,
  policyId,
  profile,
  rule,
  tier,
  workload,
  workloadRemove,
} from "../testing/messages.ts";

const P = policyId("np/default/p");
const CALICO = { family: "ip", name: "calico" } as const;

const SET = ipSet("s:web", "NET", "10.65.0.2/32", "10.66.0.0/16");
const POLICY = policy(P, [rule("allow", { src_ip_set_ids: ["s:web"] })]);
const PROFILE = profile("kns.default", [rule("allow")], [rule("allow")]);
const POD = workload("a", {
  mac: "aa:bb:cc:dd:ee:01",
  ipv4_nets: ["10.65.0.7/32"],
  ipv6_nets: ["fd65::7/128"],
  profile_ids: ["kns.default"],
  tiers: [tier("default", [P])],
});
const WORLD: readonly ToDataplane[] = [SET, POLICY, PROFILE, POD, IN_SYNC];

const refusal = (): NftError =>
  new NftError("Transaction refused", { code: NFT_ERROR_CODES.refused, op: "Run transaction" });
const badListing = (): NftError => new NftError("Read failed", { code: NFT_ERROR_CODES.readFailed, op: "Read table" });

describe("createDataplane()", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  const writes = (): number => host.nft.transactions.length;
  const kinds = (): string[] => host.nft.transactions.at(-1)?.operations.map(({ kind }) => kind) ?? [];

  beforeEach(() => {
    host = new FakeHost();
    host.routes.setLink(2, "eth0");
    host.routes.setLink(5, "calia");
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
      assert.deepEqual(more, []);
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

  describe("an address that gets another workload", () => {
    const SUCCESSOR = workload("b", { ipv4_nets: ["10.65.0.7/32"], profile_ids: ["kns.default"] });

    beforeEach(async () => {
      host.routes.setLink(6, "calib");
      await host.send(dataplane, ...WORLD);
    });

    it("has lost its flows before its route is written for the next one", async () => {
      await host.advance(1000);
      await host.send(dataplane, workloadRemove("a"), SUCCESSOR);
      assert.deepEqual(host.flows.deleted, ["10.65.0.7", "fd65::7"]);
      assert.deepEqual(host.flows.routesThen, [[]]);
      assert.deepEqual(host.routes.listing(), ["10.65.0.7/32 dev calib proto 3 metric 1024"]);
    });

    it("R14: waits while its flows cannot be deleted; others do not", async () => {
      host.flows.failing = "10.65.0.7";
      await host.advance(1000);
      await host.send(dataplane, workloadRemove("a"), {
        ...SUCCESSOR,
        endpoint: { ...SUCCESSOR.endpoint, ipv4_nets: ["10.65.0.7/32", "10.65.0.8/32"] },
      });
      assert.deepEqual(host.routes.listing(), ["10.65.0.8/32 dev calib proto 3 metric 1024"]);
      assert.equal(host.status?.phase, "retrying");
      host.flows.failing = undefined;
      await host.advance(1000);
      assert.equal(host.routes.listing().length, 2);
      assert.deepEqual([host.flows.deleted, host.status?.phase], [["10.65.0.7", "fd65::7"], "in-sync"]);
    });

    it("keeps its flows over a change of its endpoint that leaves it in place, and over a restart", async () => {
      await host.advance(1000);
      await host.send(dataplane, { ...POD, endpoint: { ...POD.endpoint, profile_ids: [] } });
      await dataplane.stop();
      dataplane = host.start();
      await host.send(dataplane, ...WORLD);
      assert.deepEqual(host.flows.deleted, []);
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

  describe("writes", () => {
    beforeEach(async () => {
      await host.send(dataplane, ...WORLD);
      await host.advance(1000);
    });

    it("N3: neither writes nor lists, when the same content is set again", async () => {
      const before = [writes(), host.nft.reads, host.routes.writes.length, host.routes.routeListings];
      await host.send(dataplane, SET, POLICY, PROFILE, POD);
      await host.send(dataplane);
      await host.advance(1000);
      assert.deepEqual([writes(), host.nft.reads, host.routes.writes.length, host.routes.routeListings], before);
    });

    it("writes one element for one member of a set", async () => {
      await host.send(dataplane, ipSetDelta("s:web", ["10.65.0.8/32"], ["10.65.0.2/32"]));
      assert.deepEqual(kinds(), ["delete-elements", "add-elements"]);
      assert.deepEqual([...(host.table()?.sets.get("cali40s-web")?.elements ?? [])], ["10.65.0.8"]);
    });

    it("replaces a network by one that overlaps it in one batch", async () => {
      await host.send(dataplane, ipSetDelta("s:web", ["10.66.0.0/15"], ["10.66.0.0/16"]));
      assert.deepEqual(host.fatal, []);
      assert.deepEqual([...(host.table()?.sets.get("cali40s-web-net")?.elements ?? [])], ["10.66.0.0/15"]);
    });

    it("changes the shape of a set and the rules that look it up in one batch", async () => {
      const before = writes();
      await host.send(dataplane, ipSetDelta("s:web", [], ["10.66.0.0/16"]));
      assert.equal(writes(), before + 1);
      assert.equal(host.missing([ipSet("s:web", "NET", "10.65.0.2/32"), POLICY, PROFILE, POD]), "");
      await host.send(dataplane, ipSetDelta("s:web", ["10.66.0.0/16"], ["10.65.0.2/32"]));
      assert.equal(host.missing([ipSet("s:web", "NET", "10.66.0.0/16"), POLICY, PROFILE, POD]), "");
    });

    it("N2: takes a policy's chain and sets out with its last user, and everything with the endpoint", async () => {
      await host.send(dataplane, workload("a", { profile_ids: ["kns.default"] }));
      assert.equal(host.table()?.sets.size, 0);
      assert.equal(host.table()?.chains.has("filter-cali-pi-np/default/p"), false);
      await host.send(dataplane, workloadRemove("a"));
      await host.advance(100);
      assert.equal(host.missing([SET, POLICY, PROFILE]), "");
      assert.deepEqual(host.routes.listing(), []);
    });

    it("N6: makes the table anew in the seventh try, after six that failed, and the hooks are never absent", async () => {
      host.nft.failRuns(refusal(), 6);
      const before = writes();
      await host.send(dataplane, ipSetDelta("s:web", ["10.65.0.8/32"]));
      await host.advance(200);
      const anew = host.nft.transactions.slice(before);
      // Quietly, over, quietly, back: table-swap.test.ts looks at each step.
      assert.equal(anew.length, 4);
      assert.ok(anew[2]?.operations.some(({ kind }) => kind === "add-map-elements"));
      assert.deepEqual(host.fatal, []);
      assert.equal(host.missing([...WORLD, ipSetDelta("s:web", ["10.65.0.8/32"])]), "");
    });

    it("N7: ends as fatal after ten tries, and the old ruleset stays", async () => {
      host.nft.failRuns(refusal(), 1000);
      const before = writes();
      await host.send(dataplane, ipSetDelta("s:web", ["10.65.0.8/32"]));
      await host.advance(2000);
      assert.equal(host.fatal.length, 1);
      assert.match(host.fatal[0]?.message ?? "", /10 tries/);
      assert.equal(writes(), before);
      assert.equal(host.missing(WORLD), "");
      assert.equal(host.status?.phase, "stopped");
    });

    it("reads back after a failure, and repairs what was not as thought", async () => {
      host.nft.edit((transaction) => transaction.deleteTable(CALICO));
      await host.send(dataplane, ipSetDelta("s:web", ["10.65.0.8/32"]));
      await host.advance(200);
      assert.equal(host.missing([...WORLD, ipSetDelta("s:web", ["10.65.0.8/32"])]), "");
    });
  });

  describe("refresh", () => {
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

  describe("interfaces, routes, settings", () => {
    it("R1: writes routes when the interface comes after its endpoint", async () => {
      host.routes.removeLink(5);
      await host.send(dataplane, ...WORLD);
      assert.deepEqual(host.routes.listing(), []);
      host.routes.setLink(8, "calia");
      await host.advance(100);
      assert.equal(host.routes.listing().length, 2);
    });

    it("R5: removes an unknown route of a workload interface 10 s after it was first seen", async () => {
      host.routes.setLink(6, "calib");
      host.routes.putRoute({ destination: "10.65.0.9/32", device: 6, protocol: 3, metric: 0 });
      await host.send(dataplane, ...WORLD);
      await host.advance(9_900);
      assert.equal(host.routes.listing().length, 3);
      await host.advance(200);
      assert.equal(host.routes.listing().length, 2);
    });

    it("R22: writes no routes and no neighbours where route sync is off; policy yes", async () => {
      await dataplane.stop();
      dataplane = host.start({ RouteSyncDisabled: "true" });
      await host.send(dataplane, ...WORLD);
      assert.deepEqual(host.routes.writes, []);
      assert.equal(host.missing(WORLD), "");
    });

    it("R23: writes no route for the target of a live migration, until it is none any more", async () => {
      const { endpoint } = POD;
      await host.send(
        dataplane,
        SET,
        POLICY,
        PROFILE,
        { ...POD, endpoint: { ...endpoint, live_migration_role: "target" } },
        IN_SYNC,
      );
      assert.deepEqual(host.routes.listing(), []);
      await host.send(dataplane, POD);
      await host.advance(100);
      assert.equal(host.routes.listing().length, 2);
    });

    it("goes on after a route that fails: policy is applied, the rest is tried again", async () => {
      host.routes.failWritesOf = "10.65.0.7/32";
      void dataplane.send(WORLD);
      dataplane.mark(1);
      await host.settle();
      assert.deepEqual([host.applied, host.status?.phase], [[1], "retrying"]);
      assert.deepEqual(host.routes.listing(), ["fd65::7/128 dev calia proto 3 metric 1024"]);
      host.routes.failWritesOf = undefined;
      await host.advance(200);
      assert.deepEqual([host.routes.listing().length, host.status?.phase], [2, "in-sync"]);
    });

    it("goes on after a setting that fails: the endpoint stays down until it works", async () => {
      host.sysctls.failing = "calia/proxy_arp";
      await host.send(dataplane, ...WORLD);
      assert.deepEqual(host.messages, [{ msg: "WorkloadEndpointStatusUpdate", id: POD.id, status: "down" }]);
      host.sysctls.failing = undefined;
      await host.advance(500);
      assert.deepEqual(host.messages.at(-2), { msg: "WorkloadEndpointStatusUpdate", id: POD.id, status: "up" });
      assert.deepEqual(host.messages.at(-1), { msg: "DataplaneInSync" });
    });

    it("makes no router of a host that has no rules yet", async () => {
      host.nft.failRuns(refusal());
      await dataplane.send(WORLD);
      await host.clock.advance(0);
      assert.deepEqual([writes(), host.sysctls.writes], [0, []]);
      await host.advance(100);
      assert.equal(host.missing(WORLD), "");
      assert.ok(host.sysctls.writes.includes("net/ipv4/ip_forward=1"));
    });

    it("makes a router of the host, unless told otherwise", async () => {
      await host.send(dataplane, ...WORLD);
      assert.ok(host.sysctls.writes.includes("net/ipv4/ip_forward=1"));
      const other = new FakeHost();
      await other.send(other.start({ IPForwarding: "Disabled" }), ...WORLD);
      assert.ok(!other.sysctls.writes.includes("net/ipv4/ip_forward=1"));
    });

    it("sends a status as a sign of life every 10 s", async () => {
      await host.send(dataplane, ...WORLD);
      await host.advance(100);
      host.status = undefined;
      await host.advance(10_000);
      assert.notEqual(host.status, undefined);
    });
  });
});
