import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type SetShape, Transaction } from "@bulrush/nftables";
import { setsAhead } from "./sets-ahead.ts";

const TABLE = { family: "ip", name: "calico" } as const;
const HASH: SetShape = { name: "hash", key: ["ipv4_addr"], interval: false };
const NETS: SetShape = { name: "nets", key: ["ipv4_addr"], interval: true };
const OLD: SetShape = { ...NETS, name: "old" };

/** "add-set nets, ..." for each part. */
const parts = (transaction: Transaction): string[] =>
  setsAhead(transaction).map((part) =>
    part.operations
      .map((operation) => {
        const set = "set" in operation ? operation.set : "";
        return `${operation.kind} ${typeof set === "string" ? set : set.name}`.trimEnd();
      })
      .join(", "),
  );

describe("setsAhead()", () => {
  it("puts new interval sets ahead, with their elements, and nothing else", () => {
    const transaction = new Transaction()
      .flushChain(TABLE, "c")
      .deleteSet(TABLE, "gone")
      .addSet(TABLE, HASH)
      .addSet(TABLE, NETS)
      .addElements(TABLE, HASH, ["10.0.0.1"])
      .addElements(TABLE, NETS, ["10.0.0.0/8"])
      .addElements(TABLE, OLD, ["11.0.0.0/8"])
      .addRule(TABLE, "c", { statements: [] });
    assert.deepEqual(parts(transaction), [
      "add-set nets, add-elements nets",
      "flush-chain, delete-set gone, add-set hash, add-elements hash, add-elements old, add-rule",
    ]);
  });

  it("has room for the rules of a large host", () => {
    const transaction = new Transaction().addSet(TABLE, NETS);
    for (let i = 0; i < 300_000; i++) transaction.addRule(TABLE, "c", { statements: [] });
    assert.deepEqual(
      setsAhead(transaction).map(({ operations }) => operations.length),
      [1, 300_000],
    );
  });

  const whole: readonly (readonly [what: string, transaction: Transaction])[] = [
    ["no new interval set", new Transaction().addSet(TABLE, HASH).addElements(TABLE, OLD, ["11.0.0.0/8"])],
    ["a table that is made without such a set", new Transaction().addTable(TABLE).addSet(TABLE, HASH)],
    [
      "a table that is made anew",
      new Transaction().addTable(TABLE).deleteTable(TABLE).addTable(TABLE).addSet(TABLE, NETS),
    ],
    ["a set that takes the place of another", new Transaction().deleteSet(TABLE, "nets").addSet(TABLE, NETS)],
    ["nothing", new Transaction()],
  ];
  for (const [what, transaction] of whole)
    it(`leaves a transaction whole with ${what}`, () => {
      assert.equal(setsAhead(transaction).length, 1);
    });

  it("puts a table that is made ahead, with its interval sets", () => {
    const transaction = new Transaction()
      .addTable(TABLE)
      .addChain(TABLE, "c")
      .addSet(TABLE, NETS)
      .addElements(TABLE, NETS, ["10.0.0.0/8"])
      .deleteTable({ family: "ip", name: "another" });
    assert.deepEqual(parts(transaction), ["add-table, add-set nets, add-elements nets", "add-chain, delete-table"]);
  });

  it("tells sets of one name in two families apart", () => {
    const ip6 = { family: "ip6", name: "calico" } as const;
    const transaction = new Transaction().deleteSet(ip6, "nets").addSet(ip6, NETS).addSet(TABLE, NETS);
    assert.deepEqual(parts(transaction), ["add-set nets", "delete-set nets, add-set nets"]);
  });
});
