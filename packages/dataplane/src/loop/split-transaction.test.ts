import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type SetShape, Transaction } from "@bulrush/nftables";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, ipSet, policy, policyId, rule, tier, workload } from "../testing/messages.ts";
import { splitTransaction } from "./split-transaction.ts";

const TABLE = { family: "ip", name: "calico" } as const;
const SET: SetShape = { name: "s", key: ["ipv4_addr"], interval: false };

const addresses = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `10.${i >>> 16}.${(i >>> 8) & 255}.${i & 255}`);

/** "add-set, add-elements 1000" for each part. */
const parts = (transaction: Transaction): string[] =>
  splitTransaction(transaction).map((part) =>
    part.operations
      .map((operation) => ("elements" in operation ? `${operation.kind} ${operation.elements.length}` : operation.kind))
      .join(", "),
  );

describe("splitTransaction()", () => {
  it("puts what sets hold first, in pieces; then chains, rules and maps as one; then the sets that go", () => {
    const transaction = new Transaction()
      .addTable(TABLE)
      .addChain(TABLE, "c")
      .deleteSet(TABLE, "old")
      .addSet(TABLE, SET)
      .addElements(TABLE, SET, addresses(2500))
      .addRule(TABLE, "c", { statements: [] });
    assert.deepEqual(parts(transaction), [
      "add-table, add-set",
      "add-elements 1000",
      "add-elements 1000",
      "add-elements 500",
      "add-chain, add-rule",
      "delete-set",
    ]);
  });

  it("keeps deletes ahead of adds in each set", () => {
    const transaction = new Transaction()
      .deleteElements(TABLE, SET, ["10.0.0.1"])
      .addElements(TABLE, SET, ["10.0.0.2"]);
    assert.deepEqual(parts(transaction), ["delete-elements 1, add-elements 1"]);
  });

  it("does not cut a table that is made anew", () => {
    const transaction = new Transaction().addTable(TABLE).deleteTable(TABLE).addTable(TABLE).addChain(TABLE, "c");
    assert.equal(splitTransaction(transaction).length, 1);
  });
});

it("createDataplane() writes in parts what is too large for the socket's buffer", async () => {
  const host = new FakeHost({ maxTransactionBytes: 60_000 });
  const P = policyId("gnp/p");
  const messages = [
    ipSet("s:big", "NET", ...addresses(10_000).map((address) => `${address}/32`)),
    policy(P, [rule("allow", { src_ip_set_ids: ["s:big"] })]),
    workload("a", { tiers: [tier("default", [P])] }),
    IN_SYNC,
  ];
  const dataplane = host.start();
  await host.send(dataplane, ...messages);
  assert.deepEqual(host.fatal, []);
  assert.ok(host.nft.transactions.length > 10);
  assert.equal(host.missing(messages), "");
  await dataplane.stop();
});
