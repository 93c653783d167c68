import { compareStrings } from "@bulrush/base";
import { parseCidr } from "@bulrush/ip";
import type { ChainState } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DesiredTables } from "../desired/tables.ts";
import { workloadDispatch } from "../render/dispatch.ts";
import { renderEndpointChain } from "../render/endpoint-chain.ts";
import { adminDownChain } from "../render/filter-chains.ts";
import { layered } from "../render/layer.ts";
import { connectionLimitChain, type Direction, endpointChain } from "../render/names.ts";
import { qosLimits, renderConnectionLimit } from "../render/qos-rules.ts";
import { rpfSkipChain } from "../render/raw-chains.ts";
import type { Family } from "../render/statements.ts";
import { CHAIN } from "../render/topology.ts";
import { Listeners } from "./listeners.ts";
import type { Manager } from "./manager.ts";
import type { PolicyGroups } from "./policy-groups.ts";
import type { LocalWorkload, WorkloadEndpoints } from "./workload-endpoints.ts";

const LAYER = "filter";
const DIRECTIONS: readonly Direction[] = ["ingress", "egress"];

/** The chains of workload endpoints, and the maps that lead from interface names to them. */
export class WorkloadChainsManager implements Manager {
  /** Whether any workload is down by its owner's wish. Told when it changes. */
  readonly onAdminDownChange: Listeners<boolean> = new Listeners();
  readonly #config: DataplaneConfig;
  readonly #tables: DesiredTables;
  readonly #endpoints: WorkloadEndpoints;
  readonly #groups: PolicyGroups;
  readonly #dirty = new Set<string>();
  /** Invariant: exactly the interfaces whose chains are offered. */
  readonly #offered = new Set<string>();
  /** Invariant: the interfaces whose endpoints are down by their owner's wish. */
  readonly #down = new Set<string>();
  #dispatchStale = true;

  constructor(config: DataplaneConfig, tables: DesiredTables, endpoints: WorkloadEndpoints, groups: PolicyGroups) {
    this.#config = config;
    this.#tables = tables;
    this.#endpoints = endpoints;
    this.#groups = groups;
    groups.onSelectorChange.add(() => {
      for (const name of this.#offered) this.#dirty.add(name);
    });
    endpoints.onInterfaceChange.add((name) => this.#dirty.add(name));
  }

  onUpdate(_message: ToDataplane): void {
    // The registry of endpoints has its own ear.
  }

  completeDeferredWork(): void {
    this.#updateDown();
    for (const name of this.#dirty) {
      const workload = this.#endpoints.ownerOf(name);
      if (workload !== undefined) {
        if (!this.#offered.has(name)) this.#dispatchStale = true;
        this.#offered.add(name);
        this.#offer(name, workload);
      } else if (this.#offered.delete(name)) {
        this.#dispatchStale = true;
        this.#withdraw(name);
      }
    }
    if (this.#dispatchStale) this.#offerDispatch();
    if (this.#config.allowSpoofedSources && (this.#dirty.size > 0 || this.#dispatchStale)) this.#offerSpoofing();
    this.#dispatchStale = false;
    this.#dirty.clear();
  }

  #updateDown(): void {
    const before = this.#down.size;
    let changed = false;
    for (const name of this.#dirty) {
      const workload = this.#endpoints.ownerOf(name);
      const down = workload !== undefined && workload.endpoint.state !== "active";
      changed = (down ? !this.#down.has(name) : this.#down.delete(name)) || changed;
      if (down) this.#down.add(name);
    }
    if (!changed) return;
    const chain = adminDownChain([...this.#down].sort(compareStrings), this.#config);
    for (const table of this.#tables.values()) table.offerChain(chain.name, () => chain);
    if (before > 0 !== this.#down.size > 0) this.onAdminDownChange.notify(this.#down.size > 0);
  }

  #offer(name: string, { endpoint }: LocalWorkload): void {
    for (const direction of DIRECTIONS) {
      const chainName = endpointChain("workload", direction, name);
      const tiers = this.#groups.group(endpoint.tiers, direction);
      const { connections } = qosLimits(endpoint.qos_controls, direction);
      this.#offerLimit(name, direction, connections);
      this.#groups.use(chainName, LAYER, direction, tiers);
      // Nothing in the chain depends on the family: both tables share the one object.
      let rendered: ChainState | undefined;
      const render = (): ChainState => {
        rendered ??= renderEndpointChain(
          {
            name: chainName,
            layer: LAYER,
            direction,
            kind: "workload",
            interfaceName: name,
            adminUp: endpoint.state === "active",
            tiers,
            profiles: endpoint.profile_ids,
            ...(connections === undefined ? {} : { connectionLimitChain: connectionLimitChain(direction, name) }),
          },
          this.#config,
        );
        return rendered;
      };
      for (const table of this.#tables.values()) table.offerChain(layered(LAYER, chainName), render);
    }
  }

  #offerLimit(name: string, direction: Direction, connections: number | undefined): void {
    const limit =
      connections === undefined ? undefined : renderConnectionLimit(name, direction, connections, this.#config);
    for (const table of this.#tables.values())
      if (limit === undefined) table.withdrawChain(layered(LAYER, connectionLimitChain(direction, name)));
      else table.offerChain(limit.name, () => limit);
  }

  #withdraw(name: string): void {
    for (const direction of DIRECTIONS) {
      this.#offerLimit(name, direction, undefined);
      const chainName = endpointChain("workload", direction, name);
      this.#groups.use(chainName, LAYER, direction, []);
      for (const table of this.#tables.values()) table.withdrawChain(layered(LAYER, chainName));
    }
  }

  #offerDispatch(): void {
    const chainsOf = (direction: Direction): Map<string, string> =>
      new Map(
        [...this.#offered].sort(compareStrings).map((name) => [name, endpointChain("workload", direction, name)]),
      );
    const dispatches = [
      workloadDispatch(CHAIN.fromWorkload, "in", chainsOf("egress"), this.#config),
      workloadDispatch(CHAIN.toWorkload, "out", chainsOf("ingress"), this.#config),
    ];
    for (const table of this.#tables.values())
      for (const { chain, map } of dispatches) {
        table.offerChain(chain.name, () => chain);
        table.offerMap(map);
      }
  }

  #offerSpoofing(): void {
    for (const [family, table] of this.#tables)
      table.offerChain(layered("raw", CHAIN.rpfSkip), () => this.#rpfSkip(family));
  }

  #rpfSkip(family: Family): ChainState {
    const allowed = [...this.#offered].sort(compareStrings).map((interfaceName) => ({
      interfaceName,
      cidrs: (this.#endpoints.ownerOf(interfaceName)?.endpoint.allow_spoofed_source_prefixes ?? []).filter(
        (cidr) => parseCidr(cidr)?.family === family,
      ),
    }));
    return rpfSkipChain(allowed, family);
  }
}
