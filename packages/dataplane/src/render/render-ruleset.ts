import type { TableState } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";

/**
 * The whole ruleset that a dataplane would program after these messages: tables `ip calico` and, with IPv6,
 * `ip6 calico`. Pure. The same managers as in the apply loop make it. `settings` as in {@link DataplaneWorkerOptions};
 * a ConfigUpdate among the messages is laid over it.
 */
export function renderRuleset(
  messages: Iterable<ToDataplane>,
  settings: ReadonlyMap<string, string> = new Map(),
): TableState[] {
  void messages;
  void settings;
  return [];
}
