import type { Statement } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { Layer } from "./layer.ts";
import { ACCEPT, COUNTER, DROP, RETURN, setMark, verdict } from "./statements.ts";

/**
 * Lets the packet through this hook. In raw, tracking and the later hooks still come, so it is a plain accept there.
 * Where the setting says RETURN, the verdict is left to the rules after ours; the accept bit tells our own later hooks.
 */
export function allow(layer: Layer, config: DataplaneConfig): Statement[] {
  const action = layer === "mangle" ? config.mangleAllowAction : config.filterAllowAction;
  if (layer === "raw" || action === "ACCEPT") return [COUNTER, verdict(ACCEPT)];
  return [COUNTER, setMark(config.marks.accept), verdict(RETURN)];
}

/**
 * Ends the packet. A rejection is answered in filter alone: the kernel knows no reject at all hooks of mangle, and in
 * raw the sender's address is not to be trusted.
 */
export function deny(layer: Layer, config: DataplaneConfig): Statement[] {
  if (layer !== "filter" || config.denyAction === "DROP") return [COUNTER, verdict(DROP)];
  return [COUNTER, { kind: "reject", with: "icmpx-port-unreachable" }];
}
