import { messageOf, must } from "@bulrush/base";
import { canonicalCidr, formatAddress, parseAddress, parseCidr } from "@bulrush/ip";
import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import type { DesiredTables } from "../desired/tables.ts";
import type { RouteChange } from "../interface/interface-monitor.ts";
import type { FlowAccess, RouteAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import { floatingIpsOf } from "../manager/floating-ips-manager.ts";
import type { Manager } from "../manager/manager.ts";
import type { LocalWorkload, WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import type { Family } from "../render/statements.ts";
import { ClusterRoutes } from "../tunnel/cluster-routes.ts";
import { Tunnels } from "../tunnel/tunnels.ts";
import { FlowCleanup } from "./flow-cleanup.ts";
import type { RouteTarget } from "./route-class.ts";
import type { LiveMigrations } from "./live-migrations.ts";
import { type ReleaseResult, type RouteResult, RouteTable } from "./route-table.ts";
import { type NeighbourResult, StaticNeighbours } from "./static-neighbours.ts";

/** What one apply of routes and neighbours did. */
export interface RoutesResult {
  readonly writes: number;
  readonly routeDrift: number;
  readonly neighbourDrift: number;
  /** The same for people. */
  readonly drift: readonly DriftItem[];
  readonly failures: readonly string[];
  /** What the operator should hear of once, though nothing can be done about it here. */
  readonly warnings: readonly string[];
  readonly againAtMs: number | undefined;
}

const NOTHING: RoutesResult = {
  writes: 0,
  routeDrift: 0,
  neighbourDrift: 0,
  drift: [],
  failures: [],
  warnings: [],
  againAtMs: undefined,
};

/**
 * A route and, where the MAC is known, a neighbour for each address of each local workload that is not down by its owner's
 * wish (another one may have its address); tunnels, and routes to the
 * workloads of other hosts. Before an address goes from
 * one workload to the next, its tracked flows are deleted. One round is `release`, then `apply`.
 */
export class RoutesManager implements Manager {
  readonly #config: DataplaneConfig;
  readonly #endpoints: WorkloadEndpoints;
  readonly #migrations: LiveMigrations;
  readonly #tables: ReadonlyMap<Family, RouteTable>;
  readonly #neighbours: StaticNeighbours;
  readonly #tunnels: Tunnels;
  readonly #cluster: ClusterRoutes;
  readonly #cleanup = new FlowCleanup();
  readonly #dirty = new Set<string>();
  /** Families of which it is not known, in this round, what the kernel has. */
  readonly #unlisted = new Set<Family>();
  /** Interfaces whose workloads were BGP peers of this host when their routes were worked out last. */
  readonly #bgpPeers = new Set<string>();

  constructor(
    config: DataplaneConfig,
    endpoints: WorkloadEndpoints,
    interfaces: Interfaces,
    families: DesiredTables,
    migrations: LiveMigrations,
  ) {
    this.#migrations = migrations;
    migrations.onChange.add((name) => this.#dirty.add(name));
    this.#config = config;
    this.#endpoints = endpoints;
    const ownership = { ...config, isBgpPeer: (name: string): boolean => this.#bgpPeers.has(name) };
    this.#tables = new Map(
      [...families.keys()].map((family) => [family, new RouteTable(family, interfaces, ownership)]),
    );
    this.#neighbours = new StaticNeighbours(interfaces);
    this.#tunnels = new Tunnels(families.keys(), config, interfaces);
    this.#cluster = new ClusterRoutes(config, interfaces, this.#tables, this.#tunnels.byFamily);
    endpoints.onInterfaceChange.add((name) => this.#dirty.add(name));
  }

  /** Our routes in the kernel. */
  counts(): { readonly ip: number; readonly ip6: number } {
    return { ip: this.#tables.get(4)?.size ?? 0, ip6: this.#tables.get(6)?.size ?? 0 };
  }

  /** True when each route of the interface is in the kernel, or was refused when it was written last. */
  isTried(interfaceName: string): boolean {
    if (this.#config.routeSyncDisabled) return true;
    return [...this.#tables.values()].every((table) => table.isTried(interfaceName));
  }

  /** Of endpoints, their registry tells. */
  onUpdate(message: ToDataplane): void {
    this.#tunnels.onUpdate(message);
    this.#cluster.onUpdate(message);
  }

  completeDeferredWork(): void {
    for (const name of this.#dirty) {
      const owner = this.#endpoints.ownerOf(name);
      this.#noteBgpPeer(name, owner?.endpoint.local_bgp_peer !== undefined);
      const workload = owner?.endpoint.state === "active" ? owner : undefined;
      for (const [family, table] of this.#tables)
        table.setRoutes("local-workload", name, workload === undefined ? [] : this.#targets(workload, family));
      const hasRoutes = workload !== undefined && this.#migrations.priorityOf(name) !== "none";
      this.#neighbours.set(name, hasRoutes ? neighboursOf(workload) : new Map());
    }
    this.#dirty.clear();
    this.#cluster.completeDeferredWork();
  }

  /** Whose routes there are on the interface is another matter from now on. */
  #noteBgpPeer(name: string, isPeer: boolean): void {
    if (isPeer === this.#bgpPeers.has(name)) return;
    if (isPeer) this.#bgpPeers.add(name);
    else this.#bgpPeers.delete(name);
    for (const table of this.#tables.values()) table.touchInterface(name);
  }

  touchInterface(name: string): void {
    for (const table of this.#tables.values()) table.touchInterface(name);
    this.#neighbours.touchInterface(name);
  }

  /** The kernel tells of a route. True when it is other than we left it: there is something to repair then. */
  noticeRoute({ kind, route }: RouteChange): boolean {
    if (this.#config.routeSyncDisabled) return false;
    const table = this.#tables.get(route.destination.includes(":") ? 6 : 4);
    return table !== undefined && table.notice(route, kind === "route-gone");
  }

  /**
   * With an address that routes have as their source, the kernel drops those routes, or their source, and not every kernel
   * tells. True when it is one of those: all routes of its family are listed then. `cidr`: with its length.
   */
  noticeAddressGone(cidr: string): boolean {
    const { deviceRouteSourceAddress, deviceRouteSourceAddressV6 } = this.#config;
    const address = cidr.slice(0, cidr.indexOf("/"));
    if (address !== deviceRouteSourceAddress && address !== deviceRouteSourceAddressV6) return false;
    this.#tables.get(address.includes(":") ? 6 : 4)?.queueResync();
    return true;
  }

  queueResync(): void {
    for (const table of this.#tables.values()) table.queueResync();
    this.#neighbours.queueResync();
    this.#tunnels.touch();
  }

  /**
   * Takes addresses away from workloads that have them no more, and deletes their flows. To be called before the rules
   * change: the next workload's chains let through what is established. A family whose routes cannot be listed is left
   * alone until the next round, as a failed listing is not an empty one.
   */
  release(access: RouteAccess, flows: FlowAccess, nowMs: number): RoutesResult {
    if (this.#config.routeSyncDisabled) return NOTHING;
    const results: ReleaseResult[] = [];
    const failures: string[] = [];
    this.#unlisted.clear();
    for (const [family, table] of this.#tables)
      try {
        const result = table.release(access, nowMs);
        this.#cleanup.add(result.freed);
        results.push(result);
      } catch (error) {
        this.#unlisted.add(family);
        table.queueResync();
        failures.push(`List routes of IPv${family}: ${messageOf(error)}`);
      }
    failures.push(...results.flatMap((result) => result.failures), ...this.#cleanup.run(flows).failures);
    return {
      writes: results.reduce((sum, { writes }) => sum + writes, 0),
      routeDrift: results.reduce((sum, { drift }) => sum + drift.length, 0),
      neighbourDrift: 0,
      drift: results.flatMap(({ drift }) => drift),
      failures,
      warnings: [],
      againAtMs: undefined,
    };
  }

  /** What the kernel's routes and neighbours are other than wanted, without any consequence. Throws when a listing fails. */
  inspect(access: RouteAccess, nowMs: number): DriftItem[] {
    if (this.#config.routeSyncDisabled) return [];
    return [
      ...[...this.#tables.values()].flatMap((table) => table.inspect(access, nowMs)),
      ...this.#neighbours.inspect(access),
      ...this.#tunnels.inspect(access),
    ];
  }

  /** Writes routes and neighbours. What fails of one family, or of neighbours, keeps out nothing else. */
  apply(access: RouteAccess, nowMs: number): RoutesResult {
    if (this.#config.routeSyncDisabled) return NOTHING;
    const tunnels = this.#tunnels.apply(access, nowMs);
    const isHeld = (address: string): boolean => this.#cleanup.isPending(address);
    const failed: string[] = [];
    const results: RouteResult[] = [];
    for (const [family, table] of this.#tables)
      try {
        if (!this.#unlisted.has(family)) results.push(table.apply(access, nowMs, isHeld));
      } catch (error) {
        failed.push(`Write routes of IPv${family}: ${messageOf(error)}`);
      }
    const neighbours = this.#applyNeighbours(access);
    const agains = [...tunnels, ...results].flatMap(({ againAtMs }) => (againAtMs === undefined ? [] : [againAtMs]));
    if (this.#cleanup.hasMore) agains.push(nowMs);
    return {
      writes: [...tunnels, ...results].reduce((sum, { writes }) => sum + writes, neighbours.writes),
      routeDrift: 0,
      neighbourDrift: tunnels.reduce((sum, { drift }) => sum + drift, neighbours.drift.length),
      drift: [...tunnels.flatMap(({ drift, name }) => tunnelDrift(name, drift)), ...neighbours.drift],
      failures: [...failed, ...[...tunnels, ...results, neighbours].flatMap(({ failures }) => failures)],
      warnings: results.flatMap(({ warnings }) => warnings),
      againAtMs: agains.length === 0 ? undefined : Math.min(...agains),
    };
  }

  /** What of them is to be done is tried again at the next call. */
  #applyNeighbours(access: RouteAccess): NeighbourResult {
    try {
      return this.#neighbours.apply(access);
    } catch (error) {
      this.#neighbours.queueResync();
      return { writes: 0, drift: [], failures: [`Neighbours of workloads: ${messageOf(error)}`] };
    }
  }

  #targets(workload: LocalWorkload, family: Family): RouteTarget[] {
    const { endpoint } = workload;
    const priority = this.#migrations.priorityOf(endpoint.name);
    if (priority === "none") return [];
    const source = family === 4 ? this.#config.deviceRouteSourceAddress : this.#config.deviceRouteSourceAddressV6;
    const nets = (family === 4 ? endpoint.ipv4_nets : endpoint.ipv6_nets).map((net) =>
      must(canonicalCidr(net), `a network in place of "${net}"`),
    );
    for (const { ext_ip: external } of floatingIpsOf(workload, family, this.#config)) {
      const cidr = parseAddress(external)?.family === family ? canonicalCidr(external) : undefined;
      if (cidr !== undefined && !nets.includes(cidr)) nets.push(cidr);
    }
    return nets.map((destination) => ({
      destination,
      protocol: this.#config.deviceRouteProtocol,
      metric: (priority === "elevated" ? this.#config.elevatedRoutePriority : this.#config.routePriority)[family],
      type: "unicast",
      scope: "link",
      ...(source === undefined ? {} : { source }),
    }));
  }
}

function tunnelDrift(name: string, drift: number): DriftItem[] {
  if (drift === 0) return [];
  return [{ kind: "neighbour", name, what: "changed", detail: `${drift} ${drift === 1 ? "thing" : "things"} written` }];
}

function neighboursOf({ endpoint }: LocalWorkload): Map<string, string> {
  const macs = new Map<string, string>();
  if (endpoint.mac === "") return macs;
  for (const net of endpoint.ipv4_nets) {
    const cidr = parseCidr(net);
    if (cidr?.prefixLength === 32) macs.set(formatAddress(cidr), endpoint.mac);
  }
  return macs;
}
