import type { TableState } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import { overlay } from "../config/overlay.ts";
import { parseDataplaneConfig } from "../config/parse-config.ts";
import { readableMessage } from "../input/readable-message.ts";
import { Interfaces } from "../manager/interfaces.ts";
import { RulesetManagers } from "../manager/ruleset-managers.ts";
import { WorkloadEndpoints } from "../manager/workload-endpoints.ts";

/**
 * The whole ruleset that a dataplane would program after these messages: tables `ip calico`, with IPv6
 * `ip6 calico`, and `arp calico-arp`. Pure: the managers of the apply loop make it, on a host whose interfaces are not known (host endpoints
 * that are matched by address alone have no chains). `settings` as in `DataplaneWorkerOptions`; a ConfigUpdate that
 * comes first is laid over them.
 */
export function renderRuleset(
  messages: Iterable<ToDataplane>,
  settings: ReadonlyMap<string, string> = new Map(),
): TableState[] {
  const endpoints = new WorkloadEndpoints();
  let managers: RulesetManagers | undefined;
  const start = (effective: ReadonlyMap<string, string>): RulesetManagers => {
    const { config } = parseDataplaneConfig(effective);
    return new RulesetManagers({ config, endpoints, interfaces: new Interfaces(), onBadMember: () => undefined });
  };
  for (const received of messages) {
    const message = readableMessage(received);
    managers ??= start(message.msg === "ConfigUpdate" ? overlay(settings, message.config) : settings);
    endpoints.onUpdate(message);
    managers.onUpdate(message);
  }
  managers ??= start(settings);
  managers.completeDeferredWork();
  return managers.allTables.map((table) => table.state());
}
