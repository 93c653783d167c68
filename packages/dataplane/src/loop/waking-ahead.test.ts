import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type NftOperation, Transaction } from "@bulrush/nftables";
import { wakingAhead } from "./waking-ahead.ts";

const IP = { family: "ip", name: "calico" } as const;
const IP6 = { family: "ip6", name: "calico" } as const;

const parts = (transaction: Transaction): string[][] =>
  wakingAhead(transaction).map(({ operations }) =>
    operations.map((one: NftOperation) => `${one.kind} ${one.table.family}`),
  );

describe("wakingAhead()", () => {
  it("puts ahead what wakes tables, of all families", () =>
    assert.deepEqual(
      parts(new Transaction().addTable(IP, false).addChain(IP, "a").addTable(IP6, false).addChain(IP6, "a")),
      [
        ["add-table ip", "add-table ip6"],
        ["add-chain ip", "add-chain ip6"],
      ],
    ));

  it("has room for the rules of a large host", () => {
    const transaction = new Transaction().addTable(IP, false);
    for (let i = 0; i < 300_000; i++) transaction.addRule(IP, "c", { statements: [] });
    assert.deepEqual(
      wakingAhead(transaction).map(({ operations }) => operations.length),
      [1, 300_000],
    );
  });

  it("cuts nothing where no table is woken", () =>
    assert.deepEqual(parts(new Transaction().addTable(IP).addChain(IP, "a")), [["add-table ip", "add-chain ip"]]));
});
