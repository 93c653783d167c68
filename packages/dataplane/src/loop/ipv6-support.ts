import { type NftConnection, NftError, type TableRef, Transaction } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { Kernel, Sysctls } from "../kernel/kernel.ts";

const PROBE: TableRef = { family: "ip6", name: "calico-probe" };

/**
 * The settings without IPv6 where this kernel has none and no rules for it either; `onWarning` says so. The rules of all
 * families are one batch: those of a family that the kernel does not know would keep out the others.
 *
 * A kernel that takes the rules gets them, though IPv6 is off (ipv6.disable=1) or not loaded yet: they are there when it
 * comes. One that has IPv6 and refuses the rules gets them too, and is not ready: without rules its pods would not be
 * guarded.
 */
export function withSupportedIpv6(
  config: DataplaneConfig,
  kernel: Pick<Kernel, "nft" | "sysctls">,
  onWarning: (message: string, fields: Readonly<Record<string, unknown>>) => void,
): DataplaneConfig {
  if (!config.ipv6Support || mayHaveIpv6(kernel.sysctls) || takesRules(kernel.nft)) return config;
  onWarning("IPv6 stays off: this kernel has none (CONFIG_IPV6)", { setting: "Ipv6Support" });
  return { ...config, ipv6Support: false, wireguard: { ...config.wireguard, 6: false } };
}

/** Settings that cannot be looked at say nothing. */
function mayHaveIpv6(sysctls: Sysctls): boolean {
  try {
    return (
      sysctls.read("net/ipv6/conf/all/forwarding") !== undefined || sysctls.read("net/ipv4/ip_forward") === undefined
    );
  } catch {
    return true;
  }
}

/** Asks in a transaction that fails whatever the answer: nothing is written. */
function takesRules(nft: NftConnection): boolean {
  const transaction = new Transaction()
    .addTable(PROBE)
    .addChain(PROBE, "c", { type: "filter", hook: "forward", priority: 0, policy: "accept" })
    .deleteChain(PROBE, "none");
  try {
    nft.run(transaction);
  } catch (error) {
    if (!(error instanceof NftError)) throw error;
    const last = transaction.operations.length - 1;
    return !error.failures.some(({ index }) => index >= 0 && index < last);
  }
  return true;
}
