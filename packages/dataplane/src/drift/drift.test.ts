import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { NFT_ERROR_CODES, NftError, type Transaction } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import type { InspectableDataplane } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import {
  encapsulation,
  IN_SYNC,
  ipSet,
  ipSetDelta,
  tunnelEnd,
  policy,
  policyId,
  profile,
  rule,
  tier,
  workload,
} from "../testing/messages.ts";

const P = policyId("np/default/p");
const CALICO = { family: "ip", name: "calico" } as const;
const OTHER = { family: "ip", name: "other" } as const;
const WEB = { name: "cali40s-web", key: ["ipv4_addr"], interval: false } as const;
const WORLD: readonly ToDataplane[] = [
  ipSet("s:web", "NET", "10.65.0.2/32"),
  policy(P, [rule("allow", { src_ip_set_ids: ["s:web"] })]),
  profile("kns.default", [rule("allow")], [rule("allow")]),
  workload("a", {
    mac: "aa:bb:cc:dd:ee:01",
    ipv4_nets: ["10.65.0.7/32"],
    profile_ids: ["kns.default"],
    tiers: [tier("default", [P])],
  }),
  IN_SYNC,
];
const flushWorkload = (transaction: Transaction): Transaction => transaction.flushChain(CALICO, "filter-cali-tw-calia");

describe("a change of our tables by somebody else", () => {
  let host: FakeHost;
  let dataplane: InspectableDataplane;
  const drift = (): unknown => host.status?.counters.drift;

  beforeEach(async () => {
    host = new FakeHost();
    host.routes.setLink(5, "calia");
    dataplane = host.start();
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
  });

  it("is repaired at once where the kernel tells of it, counted, and reported with whose it was", async () => {
    await host.editLoudly(flushWorkload);
    assert.equal(host.missing(WORLD), "");
    assert.equal(host.status?.counters.drift.chain, 1);
    const { differences, repairs } = await dataplane.inspect();
    assert.deepEqual(differences, []);
    const [repair] = repairs;
    assert.deepEqual([repair?.by, repair?.atMs, repairs.length], ["nft (1234)", host.clock.nowMs(), 1]);
    assert.deepEqual(
      repair?.items.map(({ kind, name, what }) => [kind, name, what]),
      [["chain", "ip filter-cali-tw-calia", "changed"]],
    );
    assert.match(repair?.items[0]?.detail ?? "", /^\d+ rules missing$/);
  });

  it("is one item when the table is gone, and all that was in it is counted", async () => {
    const { chains, sets } = host.status?.counters ?? assert.fail();
    await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
    assert.equal(host.missing(WORLD), "");
    const items = (await dataplane.inspect()).repairs[0]?.items;
    assert.deepEqual(
      items?.map(({ kind, name, what }) => [kind, name, what]),
      [["table", "ip calico", "missing"]],
    );
    assert.match(items?.[0]?.detail ?? "", new RegExp(`^${chains.ip} chains, ${sets.ip} set`));
    assert.equal(host.status?.counters.drift.chain, chains.ip);
    assert.equal(host.status?.counters.drift.set, sets.ip);
  });

  it("that puts a table to sleep is undone, in one stroke with nothing else, counted and named", async () => {
    const before = host.nft.transactions.length;
    const put = (transaction: Transaction): Transaction => flushWorkload(transaction.addTable(CALICO, true));
    await host.editLoudly(put);
    assert.equal(host.table()?.asleep, false);
    assert.equal(host.missing(WORLD), "");
    const [waking] = host.nft.transactions.slice(before);
    const own = waking?.operations.filter(({ table }) => table.name === CALICO.name);
    assert.deepEqual(own, [{ kind: "add-table", table: CALICO, asleep: false }]);
    assert.deepEqual(
      (await dataplane.inspect()).repairs[0]?.items.map(({ kind, name, what }) => [kind, name, what]),
      [
        ["table", "ip calico", "changed"],
        ["chain", "ip filter-cali-tw-calia", "changed"],
      ],
    );
    assert.equal(host.status?.counters.drift.chain, 2);
  });

  it("is not looked for when the table is another's", async () => {
    const { reads } = host.nft;
    await host.editLoudly((transaction) => transaction.addTable(OTHER), ["ip other"]);
    await host.advance(1000);
    assert.equal(host.nft.reads, reads);
  });

  it("is looked for when notices were lost", async () => {
    host.nft.edit(flushWorkload);
    await host.loseNotices();
    assert.equal(host.missing(WORLD), "");
  });

  it("of routes is looked for when their notices were lost, counted and named", async () => {
    host.routes.dropRoute({ destination: "10.65.0.7/32", metric: 1024 });
    const before = host.routes.writes.length;
    host.routes.loseNotices();
    await host.advance(200);
    assert.deepEqual(host.routes.writes.slice(before), ["replace-route 10.65.0.7/32"]);
    assert.equal(host.status?.counters.drift.route, 1);
    assert.deepEqual(
      (await dataplane.inspect()).repairs[0]?.items.map(({ kind, name, what }) => [kind, name, what]),
      [["route", "10.65.0.7/32", "missing"]],
    );
  });

  it("that comes again and again is read back with pauses, and the last one is repaired too", async () => {
    const reads = (): number => host.nft.reads;
    await host.editLoudly(flushWorkload);
    const before = reads();
    for (let i = 0; i < 20; i++) await host.editLoudly(flushWorkload);
    assert.equal(reads(), before);
    await host.advance(200);
    assert.equal(host.missing(WORLD), "");
    assert.ok(reads() > before);
    assert.equal(host.status?.counters.drift.chain, 2);
  });

  it("that makes a write of ours fail is counted without what we had meant to change ourselves", async () => {
    host.nft.edit((transaction) => flushWorkload(transaction).deleteElements(CALICO, WEB, ["10.65.0.2"]));
    await host.send(dataplane, ipSetDelta("s:web", [], ["10.65.0.2/32"]));
    await host.advance(100);
    assert.deepEqual(drift(), { chain: 1, set: 0, map: 0, route: 0, neighbour: 0, device: 0, sysctl: 0 });
    assert.deepEqual(
      (await dataplane.inspect()).repairs[0]?.items.map(({ name }) => name),
      ["ip filter-cali-tw-calia"],
    );
  });

  it("is counted once, however many tries its repair takes", async () => {
    host.nft.failRuns(new NftError("Refused", { code: NFT_ERROR_CODES.refused, op: "Run transaction" }), 3);
    await host.editLoudly(flushWorkload);
    await host.advance(100);
    assert.equal(host.missing(WORLD), "");
    assert.equal(host.status?.counters.drift.chain, 1);
    assert.equal((await dataplane.inspect()).repairs.length, 1);
  });

  it("pauses the watch around each write of ours", async () => {
    host.watching.length = 0;
    await host.send(dataplane, ipSetDelta("s:web", ["10.65.0.9/32"]));
    await host.advance(200);
    assert.deepEqual(host.watching, ["pause", "resume"]);
  });

  it("waits for the refresh where the kernel lets nobody listen", async () => {
    await dataplane.stop();
    host.refusesWatch = true;
    dataplane = host.start();
    await host.send(dataplane, ...WORLD);
    await host.editLoudly(flushWorkload, []);
    assert.notEqual(host.missing(WORLD), "");
    await host.advance(90_000);
    assert.equal(host.missing(WORLD), "");
    assert.ok(host.logs.some((line) => /next refresh only/.test(line)));
  });
});

describe("inspect()", () => {
  let host: FakeHost;
  let dataplane: InspectableDataplane;

  beforeEach(async () => {
    host = new FakeHost();
    host.routes.setLink(5, "calia");
    dataplane = host.start({ FelixHostname: "oak" });
  });

  const start = async (): Promise<void> => {
    await host.send(dataplane, ...WORLD);
    await host.advance(11_000);
  };
  const inspect = async (): Promise<string[]> => {
    const report = dataplane.inspect();
    await host.settle();
    return (await report).differences
      .map(({ detail, kind, name, what }) => `${kind} ${name} ${what}: ${detail}`)
      .sort();
  };

  it("has nothing to compare with before the first apply", async () => {
    const report = dataplane.inspect();
    await host.settle();
    assert.deepEqual(await report, {
      ready: false,
      pending: false,
      differences: [],
      more: 0,
      problems: [],
      repairs: [],
    });
  });

  it("finds no difference in what was written", async () => {
    await start();
    assert.deepEqual(await inspect(), []);
  });

  it("names what is missing, unknown and changed, and repairs nothing", async () => {
    await start();
    host.nft.edit((transaction) =>
      transaction
        .addChain(CALICO, "stranger")
        .addElements(CALICO, WEB, ["1.2.3.4", "1.2.3.5"])
        .deleteElements(CALICO, WEB, ["10.65.0.2"]),
    );
    host.routes.dropRoute({ destination: "10.65.0.7/32", metric: 1024 });
    host.routes.putRoute({ destination: "10.65.0.99/32", device: 5, protocol: 3, metric: 0 });
    const writes = [host.nft.transactions.length, host.routes.writes.length];
    assert.deepEqual(await inspect(), [
      "chain ip stranger unknown: ",
      "route 10.65.0.7/32 missing: dev calia",
      "route 10.65.0.99/32 unknown: dev calia",
      "set ip cali40s-web changed: 1 element missing, 2 elements unknown",
    ]);
    assert.deepEqual([host.nft.transactions.length, host.routes.writes.length], writes);
  });

  it("names devices and settings that are other than meant, and repairs nothing", async () => {
    host.routes.setLink(2, "eth0");
    host.routes.addAddress(2, "192.168.0.1/24");
    await host.send(
      dataplane,
      encapsulation({ vxlan_enabled: true }),
      tunnelEnd("oak", "10.66.0.0, 66:00:00:00:00:0a, 192.168.0.1"),
      tunnelEnd("elm", "10.66.1.0, 66:00:00:00:00:0b, 192.168.0.2"),
    );
    await start();
    assert.deepEqual(await inspect(), []);
    host.sysctls.write("net/ipv4/conf/calia/forwarding", "0");
    host.sysctls.write("net/ipv4/ip_forward", "0");
    const device = host.routes.link("vxlan.calico")?.index ?? assert.fail();
    host.routes.apply([{ kind: "delete-neighbour", neighbour: { device, address: "10.66.1.0" } }]);
    const writes = host.routes.writes.length;
    assert.deepEqual(await inspect(), [
      "neighbour 10.66.1.0 on vxlan.calico changed: 66:00:00:00:00:0b is meant",
      "sysctl net/ipv4/conf/calia/forwarding changed: 0 in place of 1",
      "sysctl net/ipv4/ip_forward changed: 0 in place of 1",
    ]);
    assert.equal(host.routes.writes.length, writes);
  });

  it("says what could not be read", async () => {
    await start();
    host.nft.failReads(new NftError("Read failed", { code: NFT_ERROR_CODES.readFailed, op: "Read table" }));
    const report = dataplane.inspect();
    await host.settle();
    assert.deepEqual((await report).problems, ["nf_tables: Read failed"]);
  });

  it("is answered by a loop that has stopped", async () => {
    await start();
    await dataplane.stop();
    assert.equal((await dataplane.inspect()).ready, false);
  });
});
