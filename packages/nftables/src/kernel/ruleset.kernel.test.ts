import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { ruleKey } from "../compile/rule-key.ts";
import { formatRuleset } from "../format/format-ruleset.ts";
import { planTable } from "../plan/plan-table.ts";
import type { TableReadback } from "../readback.ts";
import type { TableFamily, TableState } from "../state.ts";
import { catalogueTable } from "../testing/catalogue-table.ts";
import { Transaction } from "../transaction.ts";
import { openNftConnection } from "./open-nft-connection.ts";

function nftProgram(args: readonly string[], input = ""): string {
  return execFileSync("nft", args, { input, encoding: "utf8" });
}

function keys(table: TableReadback | undefined): Record<string, readonly string[]> {
  return Object.fromEntries(
    Array.from(table?.chains.values() ?? [], ({ name, rules }) => [name, rules.map(({ key }) => key)]),
  );
}

function wantedKeys(table: TableState): Record<string, readonly string[]> {
  return Object.fromEntries(
    Array.from(table.chains.values(), ({ name, rules }) => [name, rules.map((rule) => ruleKey(rule, table.family))]),
  );
}

kernelTests(import.meta.filename, () => {
  for (const family of ["ip", "ip6", "inet", "arp"] as const satisfies readonly TableFamily[]) {
    const table = catalogueTable(family);
    const text = formatRuleset(table);

    test(`a ${family} table written by netlink is listed by nft as one loaded from formatRuleset()`, () => {
      const nft = openNftConnection();
      nft.run(planTable(table, undefined));
      const byNetlink = nftProgram(["list", "ruleset"]);
      const read = nft.readTable(family, table.name);
      assert.deepEqual(keys(read), wantedKeys(table));
      assert.deepEqual(planTable(table, read).operations, [], "written, then read back: nothing to do");

      nft.run(new Transaction().deleteTable({ family, name: table.name }));
      nftProgram(["-c", "-f", "-"], text);
      nftProgram(["-f", "-"], text);
      assert.equal(nftProgram(["list", "ruleset"]), byNetlink);
      // nft makes the very same expressions of the text.
      assert.deepEqual(keys(nft.readTable(family, table.name)), wantedKeys(table));
      assert.deepEqual(planTable(table, nft.readTable(family, table.name)).operations, []);
      nft.run(new Transaction().deleteTable({ family, name: table.name }));
      nft.close();
    });

    test(`what nft lists of a ${family} table loads again`, () => {
      const nft = openNftConnection();
      nft.run(planTable(table, undefined));
      const listed = nftProgram(["list", "ruleset"]);
      nft.run(new Transaction().deleteTable({ family, name: table.name }));
      nftProgram(["-c", "-f", "-"], listed);
      nft.close();
    });
  }
});
