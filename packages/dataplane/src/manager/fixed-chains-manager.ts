import { parseCidr } from "@bulrush/ip";
import type { IPAMPoolUpdate, ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DesiredTables } from "../desired/tables.ts";
import { AMBIENT_SET } from "../render/ambient-dscp.ts";
import { DSCP_SET } from "../render/dscp-chain.ts";
import { fixedChains } from "../render/fixed-chains.ts";
import { POOL_SETS } from "../render/nat-chains.ts";
import { HOST_SETS } from "../render/tunnel-rules.ts";
import type { Family } from "../render/statements.ts";
import { isOwnIpipAddress } from "../tunnel/own-ipip-address.ts";
import { EMPTY_TOPOLOGY, type Topology } from "../render/topology.ts";
import type { DscpManager } from "./dscp-manager.ts";
import type { FloatingIpsManager } from "./floating-ips-manager.ts";
import type { HostEndpointsManager } from "./host-endpoints-manager.ts";
import type { IpSetsManager } from "./ip-sets-manager.ts";
import type { Manager } from "./manager.ts";
import type { PacketRatesManager } from "./packet-rates-manager.ts";
import type { WorkloadChainsManager } from "./workload-chains-manager.ts";
import { withoutOverlaps } from "./without-overlaps.ts";

type Pool = IPAMPoolUpdate["pool"];

/** The other managers must complete their deferred work before that of the fixed chains. */
export interface FixedChainsInputs {
  readonly config: DataplaneConfig;
  readonly tables: DesiredTables;
  readonly ipSets: IpSetsManager;
  readonly hostEndpoints: HostEndpointsManager;
  readonly workloads: WorkloadChainsManager;
  readonly packetRates: PacketRatesManager;
  readonly floatingIps: FloatingIpsManager;
  readonly dscp: DscpManager;
}

/** Sets that the fixed chains look up. */
const OWN_SETS: ReadonlySet<string> = new Set([
  ...Object.values(POOL_SETS),
  ...Object.values(HOST_SETS),
  DSCP_SET,
  AMBIENT_SET,
]);

const LOAD_BALANCER = "LoadBalancer";

/**
 * The chains that all packets pass, and the sets of pool networks that they look up. They change with the first and
 * last host endpoint, with service networks and with pools.
 *
 * Invariant: `#base` names the base chains on offer, by family.
 */
export class FixedChainsManager implements Manager {
  readonly #config: DataplaneConfig;
  readonly #tables: DesiredTables;
  readonly #ipSets: IpSetsManager;
  readonly #pools = new Map<string, Pool>();
  /** Addresses of the hosts that have a tunnel, by node. */
  readonly #tunnelHosts = new Map<string, readonly string[]>();
  /** Addresses of all hosts, by node. */
  readonly #hosts = new Map<string, readonly string[]>();
  /** This host's networks in the tunnel of IPIP. */
  readonly #ipipAddresses = new Set<string>();
  readonly #base = new Map<Family, ReadonlySet<string>>();
  #topology: Topology = EMPTY_TOPOLOGY;
  #stale = true;
  #poolsStale = true;
  #hostsStale = true;

  constructor(inputs: FixedChainsInputs) {
    const { config, dscp, floatingIps, hostEndpoints, ipSets, packetRates, tables, workloads } = inputs;
    this.#config = config;
    this.#tables = tables;
    this.#ipSets = ipSets;
    hostEndpoints.onMatchChange.add(({ byInterface, wildcard }) =>
      this.#setTopology({ hostEndpoints: byInterface.size > 0 || wildcard !== undefined }),
    );
    workloads.onAdminDownChange.add((adminDown) => this.#setTopology({ adminDown }));
    packetRates.onPresenceChange.add((present) => this.#setTopology({ packetRates: present }));
    dscp.onPresenceChange.add((present) => this.#setTopology({ dscp: present }));
    floatingIps.onPresenceChange.add((present) => this.#setTopology({ floatingIps: present }));
    ipSets.onShapeChange.add((id) => {
      if (OWN_SETS.has(id)) this.#stale = true;
    });
  }

  onUpdate(message: ToDataplane): void {
    switch (message.msg) {
      case "GlobalBGPConfigUpdate":
        this.#setTopology({
          serviceCidrs: [
            ...message.service_cluster_cidrs,
            ...message.service_external_cidrs,
            ...message.service_loadbalancer_cidrs,
          ],
        });
        return;
      case "Encapsulation":
        this.#setTopology({
          ipip: message.ipip_enabled,
          vxlan: { 4: message.vxlan_enabled, 6: message.vxlan_enabled_v6 },
        });
        return;
      case "VXLANTunnelEndpointUpdate":
        if (message.node === this.#config.hostname)
          this.#setTopology({ tunnelAddress: { 4: message.ipv4_addr !== "", 6: message.ipv6_addr !== "" } });
        else this.#tunnelHosts.set(message.node, [message.parent_device_ip, message.parent_device_ipv6]);
        this.#hostsStale = true;
        return;
      case "VXLANTunnelEndpointRemove":
        if (message.node === this.#config.hostname) this.#setTopology({ tunnelAddress: { 4: false, 6: false } });
        this.#tunnelHosts.delete(message.node);
        this.#hostsStale = true;
        return;
      case "RouteUpdate":
        this.#noteIpipAddress(message.dst, isOwnIpipAddress(message));
        return;
      case "RouteRemove":
        this.#noteIpipAddress(message.dst, false);
        return;
      case "HostMetadataUpdate":
        this.#hosts.set(message.hostname, [message.ipv4_addr, message.ipv6_addr].map(withoutLength));
        this.#hostsStale = true;
        return;
      case "HostMetadataRemove":
        this.#hostsStale = this.#hosts.delete(message.hostname) || this.#hostsStale;
        return;
      case "IPSetUpdate":
      case "IPSetRemove":
        if (message.id === AMBIENT_SET) this.#setTopology({ ambient: message.msg === "IPSetUpdate" });
        return;
      case "IPAMPoolUpdate":
        this.#pools.set(message.id, message.pool);
        this.#poolsStale = true;
        return;
      case "IPAMPoolRemove":
        this.#poolsStale = this.#pools.delete(message.id) || this.#poolsStale;
        return;
      default:
    }
  }

  completeDeferredWork(): void {
    if (this.#poolsStale) this.#updatePools();
    if (this.#hostsStale) this.#updateHosts();
    if (!this.#stale) return;
    this.#stale = false;
    for (const [family, table] of this.#tables) {
      const { base, others } = fixedChains(this.#config, this.#topology, family, this.#ipSets.lookup(family));
      for (const chain of base) table.offerBase(chain);
      for (const chain of others) table.offerChain(chain.name, () => chain);
      const names = new Set(base.map(({ name }) => name));
      for (const name of this.#base.get(family) ?? []) if (!names.has(name)) table.withdrawBase(name);
      this.#base.set(family, names);
    }
  }

  /** Routes are many: those that change nothing cost a look at the set. */
  #noteIpipAddress(network: string, isOwn: boolean): void {
    if (isOwn === this.#ipipAddresses.has(network)) return;
    if (isOwn) this.#ipipAddresses.add(network);
    else this.#ipipAddresses.delete(network);
    this.#setTopology({ ipipAddress: this.#ipipAddresses.size > 0 });
  }

  #updatePools(): void {
    this.#poolsStale = false;
    // A pool for load balancers alone holds no workloads.
    const pools = [...this.#pools.values()].filter(
      ({ allowed_uses: uses }) => uses.length === 0 || uses.some((use) => use !== LOAD_BALANCER),
    );
    const masqueraded = pools.filter(({ masquerade }) => masquerade).map(({ cidr }) => cidr);
    this.#ipSets.replace(POOL_SETS.all, "NET", withoutOverlaps(pools.map(({ cidr }) => cidr)));
    this.#ipSets.replace(POOL_SETS.masquerade, "NET", withoutOverlaps(masqueraded));
    const has = (family: Family): boolean => masqueraded.some((cidr) => parseCidr(cidr)?.family === family);
    this.#setTopology({ masquerade: { 4: has(4), 6: has(6) } });
  }

  #updateHosts(): void {
    this.#hostsStale = false;
    const { externalNodes } = this.#config;
    for (const [id, hosts] of [
      [HOST_SETS.vxlan, this.#tunnelHosts],
      [HOST_SETS.all, this.#hosts],
    ] as const) {
      const addresses = [...hosts.values()].flat().filter((address) => address !== "");
      this.#ipSets.replace(id, "NET", withoutOverlaps([...addresses, ...externalNodes]));
    }
  }

  #setTopology(change: Partial<Topology>): void {
    this.#topology = { ...this.#topology, ...change };
    this.#stale = true;
  }
}

function withoutLength(cidr: string): string {
  const slash = cidr.indexOf("/");
  return slash < 0 ? cidr : cidr.slice(0, slash);
}
