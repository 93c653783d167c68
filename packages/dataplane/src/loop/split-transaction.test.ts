import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type SetShape, Transaction } from "@bulrush/nftables";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, ipSet, policy, policyId, rule, tier, workload } from "../testing/messages.ts";
import { splitTransaction } from "./split-transaction.ts";

const TABLE = { family: "ip", name: "calico" } as const;
const SET: SetShape = { name: "s", key: ["ipv4_addr"], interval: false };

/** 1,000 elements, or 66 rules. */
const BUDGET = 100_200;

const addresses = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `10.${i >>> 16}.${(i >>> 8) & 255}.${i & 255}`);

/** "add-set, add-elements 1000" for each part. */
const parts = (transaction: Transaction): string[] =>
  splitTransaction(transaction, BUDGET).map((part) =>
    part.operations
      .map((operation) => ("elements" in operation ? `${operation.kind} ${operation.elements.length}` : operation.kind))
      .join(", "),
  );

describe("splitTransaction()", () => {
  it("puts what sets hold first, in pieces; then new chains, the changes as one, the sets that go", () => {
    const transaction = new Transaction()
      .addTable(TABLE)
      .addChain(TABLE, "new")
      .addChain(TABLE, "base", { type: "filter", hook: "input", priority: 0, policy: "accept" })
      .flushChain(TABLE, "old")
      .deleteSet(TABLE, "gone")
      .addSet(TABLE, SET)
      .addElements(TABLE, SET, addresses(2500))
      .addRule(TABLE, "new", { statements: [] })
      .addRule(TABLE, "old", { statements: [] })
      .addRule(TABLE, "base", { statements: [] });
    assert.deepEqual(parts(transaction), [
      "add-table, add-set",
      "add-elements 1000",
      "add-elements 1000",
      "add-elements 500",
      "add-chain, add-rule",
      "add-chain, flush-chain, add-rule, add-rule",
      "delete-set",
    ]);
  });

  it("cuts the rules of new chains into pieces, behind all new chains", () => {
    const transaction = new Transaction();
    for (const name of ["a", "b"]) transaction.addChain(TABLE, name);
    for (const name of ["a", "b"]) for (let i = 0; i < 60; i++) transaction.addRule(TABLE, name, { statements: [] });
    const [first = "", second = ""] = parts(transaction);
    assert.match(first, /^add-chain, add-chain, add-rule/);
    assert.match(second, /^add-rule/);
    assert.equal([...first.matchAll(/add-rule/g)].length + [...second.matchAll(/add-rule/g)].length, 120);
  });

  it("keeps deletes ahead of adds in each set", () => {
    const transaction = new Transaction()
      .deleteElements(TABLE, SET, ["10.0.0.1"])
      .addElements(TABLE, SET, ["10.0.0.2"]);
    assert.deepEqual(parts(transaction), ["delete-elements 1, add-elements 1"]);
  });

  it("does not cut what is deleted and made anew", () => {
    const table = new Transaction().addTable(TABLE).deleteTable(TABLE).addTable(TABLE).addChain(TABLE, "c");
    assert.equal(splitTransaction(table, BUDGET).length, 1);
    const set = new Transaction().deleteSet(TABLE, "s").addSet(TABLE, SET).addElements(TABLE, SET, addresses(5000));
    assert.equal(splitTransaction(set, BUDGET).length, 1);
  });
});

it("createDataplane() writes in parts what is too large for the socket's buffer", async () => {
  const host = new FakeHost({ maxTransactionBytes: 60_000 });
  const policies = Array.from({ length: 200 }, (_, i) => policyId(`gnp/p${i}`));
  const messages = [
    ipSet("s:big", "NET", ...addresses(10_000).map((address) => `${address}/32`)),
    ...policies.map((id) =>
      policy(
        id,
        Array.from({ length: 5 }, () => rule("allow", { src_ip_set_ids: ["s:big"] })),
      ),
    ),
    ...policies.map((id, i) => workload(String(i), { tiers: [tier("default", [id])] })),
    IN_SYNC,
  ];
  const dataplane = host.start();
  await host.send(dataplane, ...messages);
  assert.deepEqual(host.fatal, []);
  assert.ok(host.nft.transactions.length > 10);
  assert.equal(host.missing(messages), "");
  await dataplane.stop();
});
