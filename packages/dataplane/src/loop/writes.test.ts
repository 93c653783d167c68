import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { DataplaneHandle } from "../handle.ts";
import type { FakeHost } from "../testing/fake-host.ts";
import { ipSet, ipSetDelta, workload, workloadRemove } from "../testing/messages.ts";
import { CALICO, POD, POLICY, PROFILE, SET, WORLD, refusal, smallHost } from "../testing/small-world.ts";

describe("what the loop writes of the ruleset", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  const writes = (): number => host.nft.transactions.length;
  const kinds = (): string[] => host.nft.transactions.at(-1)?.operations.map(({ kind }) => kind) ?? [];

  beforeEach(() => {
    host = smallHost();
    dataplane = host.start();
  });

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
