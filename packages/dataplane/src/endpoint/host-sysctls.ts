import { messageOf } from "@bulrush/base";
import type { Sysctls } from "../kernel/kernel.ts";

/** Settings of the whole host without which it forwards nothing, or counts nothing. */
const FORWARDING = { 4: "net/ipv4/ip_forward", 6: "net/ipv6/conf/all/forwarding" } as const;
const ACCOUNTING = "net/netfilter/nf_conntrack_acct";

/** Makes a router of this host. Gives what could not be set, in words: the host may be set up otherwise. */
export function setHostSysctls(
  sysctls: Sysctls,
  options: { readonly forwarding: boolean; readonly ipv6: boolean },
): string[] {
  const paths: string[] = [ACCOUNTING];
  if (options.forwarding) paths.push(FORWARDING[4]);
  if (options.forwarding && options.ipv6) paths.push(FORWARDING[6]);
  const problems: string[] = [];
  for (const path of paths) {
    try {
      const current = sysctls.read(path);
      if (current !== undefined && current !== "1") sysctls.write(path, "1");
    } catch (error) {
      problems.push(`Set ${path} to 1: ${messageOf(error)}`);
    }
  }
  return problems;
}
