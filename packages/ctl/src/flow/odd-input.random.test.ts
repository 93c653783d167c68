/**
 * Whatever endpoints, policy and settings hold: it becomes a ruleset that nf_tables takes as a whole. One field that it
 * would refuse would leave the host with the rules of before, or none.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "@bulrush/base";
import type { CalcMessage } from "@bulrush/calc";
import { renderRuleset } from "@bulrush/dataplane";
import { convertResources } from "@bulrush/datastore";
import { FakeNft, planTable, Transaction } from "@bulrush/nftables";
import { graphInSync } from "../input/graph.ts";
import { oddHost } from "../testing/odd-host.ts";
import { ODD_SETTINGS } from "../testing/odd-values.ts";

const WORLDS = process.env["BULRUSH_LONG_TESTS"] === "1" ? 2000 : 60;
const SEED = Number(process.env["BULRUSH_SEED"] ?? 1);

function settingsOf(random: () => number): Map<string, string> {
  const settings = new Map<string, string>();
  for (const [name, values] of Object.entries(ODD_SETTINGS))
    if (random() < 0.3) settings.set(name, values[Math.floor(random() * values.length)] ?? "");
  return settings;
}

/** How many operations nf_tables has taken. */
function program(random: () => number): number {
  const resources = oddHost(random).map((resource) => ({ resource, source: { file: "", document: 1, line: 1 } }));
  const { updates } = convertResources(resources);
  const messages: CalcMessage[] = [];
  graphInSync(updates, "host", (message) => messages.push(message));
  const sent = messages.filter((message) => message.msg !== "DatastoreNotReady");
  const transaction = new Transaction();
  for (const table of renderRuleset(sent, settingsOf(random))) planTable(table, undefined, transaction);
  new FakeNft().run(transaction);
  return transaction.operations.length;
}

test("no odd field of an endpoint, a policy or a setting keeps the rules out of nf_tables", () => {
  let most = 0;
  for (let i = 0; i < WORLDS; i++)
    try {
      most = Math.max(most, program(seededRandom(SEED * WORLDS + i)));
    } catch (error) {
      throw new Error(`World ${i} of seed ${SEED}`, { cause: error });
    }
  assert.ok(most > 500, "worlds are not all empty");
});
