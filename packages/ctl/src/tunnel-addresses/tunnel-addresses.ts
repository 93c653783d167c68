import { systemClock } from "@bulrush/base";
import { datastoreConfigFromEnvironment, reconcileTunnelAddresses, type TunnelAddressResult } from "@bulrush/datastore";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { usageError } from "../errors.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";
import { printRows } from "../store/print-table.ts";
import { STORE_NOTE } from "../store/store-note.ts";
import { withWriterOf } from "../store/with-writer.ts";

const FORMATS = ["text", "json", "yaml"] as const;

/** bulrushctl tunnel-addresses --node N */
export const tunnelAddresses: Command = {
  name: "tunnel-addresses",
  summary: "Give a node the addresses of its tunnel devices, out of the pools",
  usage: ["tunnel-addresses --node N [--dry-run] [-o FORMAT]"],
  description: [
    "A node with WireGuard, IPIP or VXLAN has an address on each of those devices, taken out of the pools that allow it: not disabled, allowedUses with Tunnel (or empty), a nodeSelector that matches, and a mode of Always or CrossSubnet (for WireGuard, a public key on the node). This assigns what is missing, moves what is in the wrong pool, takes back what no pool asks for, and leaves alone the addresses of others; then it writes the node, once.",
    "It does so once; run it again after pools, or the labels or keys of the node have changed. After an error what was newly assigned is given back. With USE_POD_CIDR the addresses come from the pod CIDRs of nodes, and there is nothing to do. FELIX_WIREGUARDHOSTENCRYPTIONENABLED=true takes WireGuard's addresses away.",
    STORE_NOTE,
  ],
  options: [
    { name: "node", value: "N", doc: "Name of the node." },
    { name: "dry-run", doc: "Says what would be done, and writes nothing." },
    outputOption(FORMATS, "text"),
  ],
  examples: [
    { what: "what would change?", line: "bulrushctl tunnel-addresses --node worker-1 --dry-run" },
    { what: "for a program", line: "bulrushctl tunnel-addresses --node worker-1 -o json" },
  ],
  run: runTunnelAddresses,
};

async function runTunnelAddresses(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const node = args.need("node");
  if (node === "") throw usageError("--node needs a name");
  if (args.positionals.length > 0)
    throw usageError(`tunnel-addresses takes no arguments: ${args.positionals.join(" ")}`);
  const dryRun = args.has("dry-run");
  const config = datastoreConfigFromEnvironment(io.env);
  if (config.usePodCIDR === true) {
    await io.err.write("With USE_POD_CIDR tunnel addresses come from the pod CIDRs of nodes: nothing to do\n");
    if (format !== "text") await printValue(io.out, format, { node, dryRun, addresses: [] });
    return 0;
  }
  const clock = systemClock();
  const results = await withWriterOf(config, (writer, signal) =>
    reconcileTunnelAddresses(writer, {
      node,
      signal,
      dryRun,
      now: () => clock.nowMs(),
      wireguardHostEncryption: /^(?:1|true|yes|y|t)$/i.test(io.env["FELIX_WIREGUARDHOSTENCRYPTIONENABLED"] ?? ""),
    }),
  );
  if (format === "text") await printTable(results, dryRun, io);
  else await printValue(io.out, format, { node, dryRun, addresses: results.map((result) => entryOf(result)) });
  return 0;
}

function entryOf({ kind, plan, before, after }: TunnelAddressResult): object {
  return { kind, action: wordOf(plan.action, before), before, after: after ?? null };
}

/** A field that was not set cannot be cleared. */
function wordOf(action: TunnelAddressResult["plan"]["action"], before: string): string {
  return action === "clear" && before === "" ? "none" : action;
}

async function printTable(results: readonly TunnelAddressResult[], dryRun: boolean, io: CommandIo): Promise<void> {
  const rows = results.map(({ kind, plan, before, after }) => [
    kind,
    `${wordOf(plan.action, before)}${dryRun ? " (dry run)" : ""}`,
    before,
    after ?? "(a free one)",
  ]);
  await printRows(io.out, ["DEVICE", "ACTION", "BEFORE", "AFTER"], rows);
}
