import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import {
  describeOperation,
  NFT_ERROR_CODES,
  NftError,
  type NftFailure,
  type TableFamily,
  type Transaction,
} from "@bulrush/nftables";
import type { DataplaneHandle } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { ipSetDelta } from "../testing/messages.ts";
import { WORLD } from "../testing/small-world.ts";

const WARNING = "warn Leave out a table that the kernel refuses";
const FAILED = "warn Program nf_tables";

// projectcalico/calico#13987: the ARP table was refused for good; here the rules of all families are one batch.
describe("a table that the kernel refuses", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  beforeEach(() => {
    host = new FakeHost();
    host.routes.setLink(2, "eth0");
    host.routes.setLink(5, "calia");
    dataplane = host.start();
  });

  /** `times` transactions with tables of ours in these families are refused, for each of their operations. */
  const refuse = (families: readonly TableFamily[], times: number, errnoName = "EOPNOTSUPP"): void => {
    const run = host.nft.run.bind(host.nft);
    let left = times;
    host.nft.run = (transaction: Transaction, options): void => {
      const failures = transaction.operations.flatMap((operation, index): NftFailure[] =>
        left > 0 && families.includes(operation.table.family) && operation.table.name !== "calico-ended"
          ? [{ index, operation: describeOperation(operation), errno: 1, errnoName }]
          : [],
      );
      if (failures.length === 0) return run(transaction, options);
      left--;
      throw new NftError("Transaction refused", { code: NFT_ERROR_CODES.refused, op: "Run transaction", failures });
    };
  };

  const count = (line: string): number => host.logs.filter((log) => log === line).length;
  const hasElement = (element: string): boolean =>
    [...(host.table()?.sets.values() ?? [])].some(({ elements }) => new Set(elements).has(element));

  it("is left out after three tries, where it guards nothing: what guards the host is in force", async () => {
    refuse(["arp"], Number.POSITIVE_INFINITY);
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
    assert.equal(host.table("arp"), undefined);
    assert.match(
      host.missing(WORLD),
      /^add-table( add-(chain|rule|map|map-elements))+$/,
      "that of ARP alone is missing",
    );
    assert.notEqual(host.table("ip6"), undefined);
    assert.deepEqual([host.status?.ready, host.fatal, count(WARNING), count(FAILED)], [true, [], 1, 3]);
    assert.equal(hasElement("10.65.0.8"), false);
    await host.send(dataplane, ipSetDelta("s:web", ["10.65.0.8/32"]));
    await host.advance(1000);
    assert.equal(hasElement("10.65.0.8"), true);
    assert.deepEqual([count(WARNING), count(FAILED)], [1, 3], "nobody tries it again");
  });

  it("is not left out when it is refused for a reason that passes", async () => {
    refuse(["arp"], 5, "EBUSY");
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
    assert.equal(host.missing(WORLD), "");
    assert.deepEqual([host.status?.ready, count(WARNING), count(FAILED)], [true, 0, 5]);
  });

  it("is not left out when others are refused with it", async () => {
    refuse(["ip", "arp"], 5);
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
    assert.equal(host.missing(WORLD), "");
    assert.deepEqual([host.status?.ready, count(WARNING), count(FAILED)], [true, 0, 5]);
  });

  // projectcalico/felix#2360, projectcalico/felix#1411: what a rule of IPv6 needs was missing.
  for (const [refused, other] of [
    ["ip6", "ip"],
    ["ip", "ip6"],
  ] as const)
    it(`ends the dataplane when it denies, with the rules of ${other} in force where ${refused} is refused`, async () => {
      refuse([refused], Number.POSITIVE_INFINITY);
      await host.send(dataplane, ...WORLD);
      await host.advance(2000);
      assert.deepEqual([host.status?.ready, host.fatal.length, count(FAILED)], [false, 1, 10]);
      assert.equal(host.table(refused), undefined);
      assert.equal(host.table(other)?.chains.has("filter-cali-FORWARD"), true);
      assert.equal(host.nft.readTable(other, "calico-standby"), undefined);
      dataplane = host.start();
      await host.send(dataplane, ...WORLD, ipSetDelta("s:web", ["10.65.0.8/32"]));
      await host.advance(2000);
      assert.equal(host.fatal.length, 2);
      assert.equal(host.table(other)?.chains.has("filter-cali-FORWARD"), true);
      assert.equal(hasElement("10.65.0.8"), other === "ip", "the next one brings it up to date");
    });

  it("is not left out when it denies", async () => {
    refuse(["ip6"], 5);
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
    assert.equal(host.missing(WORLD), "");
    assert.deepEqual([host.status?.ready, count(WARNING), count(FAILED)], [true, 0, 5]);
  });
});
