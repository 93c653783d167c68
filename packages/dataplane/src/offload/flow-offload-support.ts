import { NftError, Transaction, type NftConnection, type TableRef } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { Kernel } from "../kernel/kernel.ts";

/** The first kernel that deletes flows out of a flow table when conntrack is asked to. */
const FIRST_WITH_DELETION = { major: 6, minor: 4 } as const;

const PROBE: TableRef = { family: "ip", name: "calico-probe" };

/**
 * The settings without flow offload where this kernel cannot do it right; `onWarning` says why. Flows of an address that a
 * workload has given up must be deleted before the next one gets it, and before Linux 6.4 those in a flow table are not.
 */
export function withSupportedOffload(
  config: DataplaneConfig,
  kernel: Pick<Kernel, "nft" | "sysctls">,
  onWarning: (message: string, fields: Readonly<Record<string, unknown>>) => void,
): DataplaneConfig {
  if (!config.flowOffload) return config;
  const why = whyNot(kernel);
  if (why === undefined) return config;
  onWarning(`Flow offload stays off: ${why}`, { setting: "NFTablesFlowTableOffload" });
  return { ...config, flowOffload: false };
}

function whyNot({ nft, sysctls }: Pick<Kernel, "nft" | "sysctls">): string | undefined {
  const release = sysctls.read("kernel/osrelease") ?? "";
  if (!deletesOffloaded(release)) return `Linux ${release} does not delete flows that are in a flow table`;
  return hasFlowtables(nft) ? undefined : "this kernel has no flow tables (nf_flow_table, nft_flow_offload)";
}

function deletesOffloaded(release: string): boolean {
  const [, major = "0", minor = "0"] = /^([0-9]+)\.([0-9]+)/.exec(release) ?? [];
  const { major: wantedMajor, minor: wantedMinor } = FIRST_WITH_DELETION;
  return Number(major) > wantedMajor || (Number(major) === wantedMajor && Number(minor) >= wantedMinor);
}

/** Asks in a transaction that fails whatever the answer: nothing is written. */
function hasFlowtables(nft: NftConnection): boolean {
  const transaction = new Transaction()
    .addTable(PROBE)
    .addFlowtable(PROBE, { name: "f", devices: [] })
    .addChain(PROBE, "c")
    .addRule(PROBE, "c", { statements: [{ kind: "flow-offload", flowtable: "f" }] })
    .deleteChain(PROBE, "none");
  try {
    nft.run(transaction);
  } catch (error) {
    if (!(error instanceof NftError) || error.failures.length === 0) throw error;
    return error.failures.every(({ index }) => index === transaction.operations.length - 1);
  }
  return false;
}
