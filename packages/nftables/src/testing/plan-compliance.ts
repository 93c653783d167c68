import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "@bulrush/base";
import { ruleKey } from "../compile/rule-key.ts";
import type { NftConnection } from "../connection.ts";
import { planTable } from "../plan/plan-table.ts";
import type { RuleReadback, TableReadback } from "../readback.ts";
import type { RuleState, TableState } from "../state.ts";
import { arbitraryTable } from "./arbitrary-table.ts";

/** The table without what a state and a reading of it differ in by nature. */
function contents(table: TableState | TableReadback | undefined): unknown {
  if (table === undefined) return undefined;
  const keyOf = (rule: RuleState | RuleReadback): string => ("key" in rule ? rule.key : ruleKey(rule, table.family));
  return {
    chains: [...table.chains.values()]
      .map(({ name, base, rules }) => ({ name, base, rules: rules.map((rule) => [keyOf(rule), rule.comment]) }))
      .sort(byName),
    sets: [...table.sets.values()]
      .map(({ name, key, interval, size, elements }) => ({ name, key, interval, size, elements: [...elements].sort() }))
      .sort(byName),
    maps: [...table.maps.values()]
      .map(({ name, key, elements }) => ({ name, key, elements: [...elements].sort(([a], [b]) => (a < b ? -1 : 1)) }))
      .sort(byName),
  };
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/**
 * Registers tests that planTable() leads from any table to any other, on whatever carries out its plans. `open` gives a
 * connection to an empty ruleset. Each of the random walks goes through `steps` tables.
 */
export function planCompliance(open: () => NftConnection, walks: number, steps: number): void {
  for (const knowledge of ["the last state", "a read-back"] as const)
    for (let seed = 1; seed <= walks; seed++)
      void test(`planTable() from ${knowledge} leads through random tables, seed ${seed}`, () => {
        const random = seededRandom(seed);
        const nft = open();
        let last: TableState | undefined;
        for (let step = 0; step < steps; step++) {
          const desired = arbitraryTable(random);
          const current = knowledge === "the last state" ? last : nft.readTable("ip", "t");
          nft.run(planTable(desired, current));
          const read = nft.readTable("ip", "t");
          assert.deepEqual(contents(read), contents(desired), `step ${step}`);
          assert.deepEqual(planTable(desired, read).operations, [], `step ${step}: nothing is left to do`);
          assert.deepEqual(planTable(structuredClone(desired), desired).operations, []);
          last = desired;
        }
        nft.close();
      });
}
