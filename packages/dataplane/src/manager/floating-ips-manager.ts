import { compareStrings } from "@bulrush/base";
import { formatAddress, parseAddress } from "@bulrush/ip";
import type { NatInfo, ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DesiredTables } from "../desired/tables.ts";
import { floatingIpChains, type FloatingIp } from "../render/floating-ips.ts";
import type { Family } from "../render/statements.ts";
import { Listeners } from "./listeners.ts";
import type { Manager } from "./manager.ts";
import { type LocalWorkload, type WorkloadEndpoints, workloadKey } from "./workload-endpoints.ts";

/** Its endpoints have floating addresses whether the setting says so or not. */
const OPENSTACK = "openstack";

/** The floating addresses of one workload that count, in one family. */
export function floatingIpsOf(workload: LocalWorkload, family: Family, config: DataplaneConfig): readonly NatInfo[] {
  if (!config.floatingIps && workload.id.orchestrator !== OPENSTACK) return [];
  return family === 4 ? workload.endpoint.ipv4_nat : workload.endpoint.ipv6_nat;
}

/** The chains of floating addresses. One that two workloads claim is that of the lowest id. */
export class FloatingIpsManager implements Manager {
  /** Whether there are any, by family. Told when it changes. */
  readonly onPresenceChange: Listeners<{ readonly 4: boolean; readonly 6: boolean }> = new Listeners();
  readonly #config: DataplaneConfig;
  readonly #tables: DesiredTables;
  readonly #endpoints: WorkloadEndpoints;
  #present = { 4: false, 6: false };
  #offered = "";
  #stale = false;

  constructor(config: DataplaneConfig, tables: DesiredTables, endpoints: WorkloadEndpoints) {
    this.#config = config;
    this.#tables = tables;
    this.#endpoints = endpoints;
    endpoints.onInterfaceChange.add(() => {
      this.#stale = true;
    });
  }

  onUpdate(_message: ToDataplane): void {
    // The registry of endpoints has its own ear.
  }

  completeDeferredWork(): void {
    if (!this.#stale) return;
    this.#stale = false;
    const floating = { 4: this.#collect(4), 6: this.#collect(6) };
    const text = JSON.stringify(floating);
    if (text === this.#offered) return;
    this.#offered = text;
    for (const [family, table] of this.#tables)
      for (const chain of floatingIpChains(floating[family], family)) table.offerChain(chain.name, () => chain);
    const present = { 4: floating[4].length > 0, 6: floating[6].length > 0 };
    if (present[4] === this.#present[4] && present[6] === this.#present[6]) return;
    this.#present = present;
    this.onPresenceChange.notify(present);
  }

  #collect(family: Family): FloatingIp[] {
    const claims: { key: string; floating: FloatingIp }[] = [];
    for (const workload of this.#endpoints.all())
      for (const { ext_ip: ext, int_ip: int } of floatingIpsOf(workload, family, this.#config)) {
        const [external, internal] = [parseAddress(ext), parseAddress(int)];
        if (external?.family === family && internal?.family === family)
          claims.push({
            key: workloadKey(workload.id),
            floating: { external: formatAddress(external), internal: formatAddress(internal) },
          });
      }
    const byExternal = new Map<string, FloatingIp>();
    for (const { floating } of claims.sort((a, b) => compareStrings(a.key, b.key)))
      if (!byExternal.has(floating.external)) byExternal.set(floating.external, floating);
    return [...byExternal.values()].sort((a, b) => compareStrings(a.external, b.external));
  }
}
