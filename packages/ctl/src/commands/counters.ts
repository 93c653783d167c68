import { readRuleCounters, type RuleCounter } from "@bulrush/dataplane";
import { openNftConnection } from "@bulrush/nftables";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { printRows } from "../store/print-table.ts";

/** bulrushctl counters */
export const counters: Command = {
  name: "counters",
  summary: "Show how many packets each rule of this host has seen",
  usage: ["counters [--all] [--json]"],
  description: [
    "Reads the rules of policies and profiles, and the ends of tiers and endpoints, out of this host's kernel and prints what they have counted since their chain was written last. It needs no agent and no datastore, but the right to read nf_tables (CAP_NET_ADMIN in the host's network namespace).",
    "A rule that has seen nothing is left out unless --all is given.",
  ],
  options: [
    { name: "all", doc: "Rules that have seen no packet too." },
    { name: "json", doc: "One JSON object a line." },
  ],
  examples: [{ what: "which rules see packets on this host?", line: "bulrushctl counters" }],
  run: runCounters,
};

async function runCounters(args: Arguments, io: CommandIo): Promise<number> {
  const nft = openNftConnection();
  let found: RuleCounter[];
  try {
    found = readRuleCounters(nft);
  } finally {
    nft.close();
  }
  const shown = args.has("all") ? found : found.filter(({ packets }) => packets > 0n);
  if (args.has("json")) {
    for (const { bytes, packets, ...names } of shown)
      await io.out.write(`${JSON.stringify({ ...names, packets: Number(packets), bytes: Number(bytes) })}\n`);
    return 0;
  }
  const titles = ["TIER", "POLICY", "DIRECTION", "RULE", "PACKETS", "BYTES"];
  const rows = shown.map(({ bytes, direction, packets, policy, rule, tier }) => [
    tier === "" ? "-" : tier,
    policy === "" ? "-" : policy,
    direction,
    rule,
    String(packets),
    String(bytes),
  ]);
  await printRows(io.out, titles, rows);
  if (found.length === 0) await io.err.write("There are no rules of ours in this host's kernel\n");
  return 0;
}
