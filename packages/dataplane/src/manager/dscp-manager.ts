import { compareStrings } from "@bulrush/base";
import { formatAddress, parseCidr } from "@bulrush/ip";
import type { DataplaneHostEndpoint, ToDataplane } from "@bulrush/proto";
import type { DesiredTables } from "../desired/tables.ts";
import { DSCP_SET, dscpChain } from "../render/dscp-chain.ts";
import type { Family } from "../render/statements.ts";
import type { IpSetsManager } from "./ip-sets-manager.ts";
import { Listeners } from "./listeners.ts";
import type { Manager } from "./manager.ts";
import { withoutOverlaps } from "./without-overlaps.ts";
import type { WorkloadEndpoints } from "./workload-endpoints.ts";

/** Which DSCP the packets of endpoints get that leave the cluster. An address that several have gets the lowest. */
export class DscpManager implements Manager {
  /** Whether any endpoint has one, by family. Told when it changes. */
  readonly onPresenceChange: Listeners<{ readonly 4: boolean; readonly 6: boolean }> = new Listeners();
  readonly #tables: DesiredTables;
  readonly #ipSets: IpSetsManager;
  readonly #endpoints: WorkloadEndpoints;
  readonly #hosts = new Map<string, DataplaneHostEndpoint>();
  #present = { 4: false, 6: false };
  #offered = "";
  #stale = true;

  constructor(tables: DesiredTables, ipSets: IpSetsManager, endpoints: WorkloadEndpoints) {
    this.#tables = tables;
    this.#ipSets = ipSets;
    this.#endpoints = endpoints;
    endpoints.onInterfaceChange.add(() => {
      this.#stale = true;
    });
  }

  onUpdate(message: ToDataplane): void {
    if (message.msg === "HostEndpointUpdate") this.#hosts.set(message.id, message.endpoint);
    else if (message.msg !== "HostEndpointRemove" || !this.#hosts.delete(message.id)) return;
    this.#stale = true;
  }

  completeDeferredWork(): void {
    if (!this.#stale) return;
    this.#stale = false;
    const dscpOf = this.#collect();
    const text = JSON.stringify([...dscpOf].sort(([a], [b]) => compareStrings(a, b)));
    if (text === this.#offered) return;
    this.#offered = text;
    this.#ipSets.replace(DSCP_SET, "NET", withoutOverlaps([...dscpOf.keys()]));
    const present = { 4: false, 6: false };
    for (const [family, table] of this.#tables) {
      const byDscp = new Map<number, string[]>();
      for (const [address, dscp] of dscpOf)
        if (address.includes(":") === (family === 6)) byDscp.set(dscp, [...(byDscp.get(dscp) ?? []), address]);
      present[family] = byDscp.size > 0;
      const chain = dscpChain(byDscp, family);
      table.offerChain(chain.name, () => chain);
    }
    if (present[4] === this.#present[4] && present[6] === this.#present[6]) return;
    this.#present = present;
    this.onPresenceChange.notify(present);
  }

  /** DSCP by address. */
  #collect(): Map<string, number> {
    const found = new Map<string, number>();
    const add = (nets: readonly string[], policies: readonly { readonly dscp: number }[]): void => {
      const dscp = policies[0]?.dscp;
      if (dscp === undefined) return;
      for (const net of nets) {
        const cidr = parseCidr(net);
        if (cidr === undefined) continue;
        const address = formatAddress(cidr);
        found.set(address, Math.min(dscp, found.get(address) ?? dscp));
      }
    };
    for (const { endpoint } of this.#endpoints.all())
      for (const family of [4, 6] satisfies Family[])
        add(family === 4 ? endpoint.ipv4_nets : endpoint.ipv6_nets, endpoint.qos_policies);
    for (const { expected_ipv4_addrs: v4, expected_ipv6_addrs: v6, qos_policies: policies } of this.#hosts.values())
      add([...v4, ...v6], policies);
    return found;
  }
}
