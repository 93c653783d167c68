import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { createDesiredTables, type DesiredTables } from "../desired/tables.ts";
import type { DesiredTable } from "../desired/desired-table.ts";
import { ArpManager } from "./arp-manager.ts";
import { DscpManager } from "./dscp-manager.ts";
import { FixedChainsManager } from "./fixed-chains-manager.ts";
import { FloatingIpsManager } from "./floating-ips-manager.ts";
import { HostEndpointsManager } from "./host-endpoints-manager.ts";
import type { Interfaces } from "./interfaces.ts";
import { IpSetsManager } from "./ip-sets-manager.ts";
import type { Manager } from "./manager.ts";
import { OffloadExceptions } from "../offload/offload-exceptions.ts";
import { PacketRatesManager } from "./packet-rates-manager.ts";
import { PolicyGroups } from "./policy-groups.ts";
import { PolicyManager } from "./policy-manager.ts";
import { WorkloadChainsManager } from "./workload-chains-manager.ts";
import type { WorkloadEndpoints } from "./workload-endpoints.ts";

/** Where the managers of the ruleset get what they do not work out themselves. */
export interface RulesetInputs {
  readonly config: DataplaneConfig;
  readonly endpoints: WorkloadEndpoints;
  readonly interfaces: Interfaces;
  readonly onBadMember: (setId: string, member: string) => void;
}

/**
 * The managers that make the nf_tables ruleset, and the tables they fill.
 *
 *     IPSet* ──────────> IpSetsManager ──shape──> PolicyManager <────────── ActivePolicy*, ActiveProfile*
 *                             │    └──shape─┐          │
 *     IPAMPool*, BGP ──> FixedChainsManager<┘ <──down?─┼─────── WorkloadChainsManager <── WorkloadEndpoints
 *                             │  ^──any?── PacketRates, FloatingIps, DSCP <── endpoints       │
 *                             │  ^──any?── HostEndpointsManager <── HostEndpoint*, Interfaces │
 *                             v                    v   v                                      v
 *                         ┌───────────────────── DesiredTable (one a family) ─────────────────────┐
 */
export class RulesetManagers implements Manager {
  readonly tables: DesiredTables;
  readonly ipSets: IpSetsManager;
  readonly hostEndpoints: HostEndpointsManager;
  readonly #arp: ArpManager;
  readonly #managers: readonly Manager[];

  constructor({ config, endpoints, interfaces, onBadMember }: RulesetInputs) {
    this.tables = createDesiredTables(config.ipv6Support);
    this.ipSets = new IpSetsManager(this.tables, onBadMember);
    this.#arp = new ArpManager(endpoints);
    const groups = new PolicyGroups(config, this.tables);
    this.hostEndpoints = new HostEndpointsManager(config, this.tables, interfaces, groups);
    const workloads = new WorkloadChainsManager(config, this.tables, endpoints, groups);
    const packetRates = new PacketRatesManager(this.tables, endpoints);
    const floatingIps = new FloatingIpsManager(config, this.tables, endpoints);
    const dscp = new DscpManager(this.tables, this.ipSets, endpoints);
    const { hostEndpoints, ipSets, tables } = this;
    const exceptions = config.flowOffload ? [new OffloadExceptions(this.tables, endpoints)] : [];
    const fixed = new FixedChainsManager({
      config,
      tables,
      ipSets,
      hostEndpoints,
      workloads,
      packetRates,
      floatingIps,
      dscp,
    });
    this.#managers = [
      this.ipSets,
      this.hostEndpoints,
      workloads,
      packetRates,
      floatingIps,
      dscp,
      ...exceptions,
      fixed,
      new PolicyManager(config, this.tables, this.ipSets),
      groups,
      this.#arp,
    ];
  }

  /** The tables of both families, and that of ARP. */
  get allTables(): readonly DesiredTable[] {
    return [...this.tables.values(), this.#arp.table];
  }

  onUpdate(message: ToDataplane): void {
    for (const manager of this.#managers) manager.onUpdate(message);
  }

  /** True when `completeDeferredWork` has more to do, once the tables as they are now are in the kernel. */
  get hasLeftovers(): boolean {
    return this.ipSets.hasLeftovers;
  }

  /** After it, the tables are settled and can be read. */
  completeDeferredWork(): void {
    for (const manager of this.#managers) manager.completeDeferredWork();
    for (const table of this.allTables) table.settle();
  }
}
