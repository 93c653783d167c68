import { compareStrings } from "@bulrush/base";
import type { ToDataplane } from "@bulrush/proto";
import type { DesiredTables } from "../desired/tables.ts";
import { layered } from "../render/layer.ts";
import { type Direction, packetRateChain } from "../render/names.ts";
import { packetRateDispatch, renderPacketRate } from "../render/packet-rates.ts";
import { qosLimits } from "../render/qos-rules.ts";
import { Listeners } from "./listeners.ts";
import type { Manager } from "./manager.ts";
import type { WorkloadEndpoints } from "./workload-endpoints.ts";

const DIRECTIONS: readonly Direction[] = ["ingress", "egress"];

/**
 * The packet rates of workloads.
 *
 * Invariant: `#rates` has, by interface, the rate (as text) whose chain is on offer.
 */
export class PacketRatesManager implements Manager {
  /** Whether any workload has a rate. Told when it changes. */
  readonly onPresenceChange: Listeners<boolean> = new Listeners();
  readonly #tables: DesiredTables;
  readonly #endpoints: WorkloadEndpoints;
  readonly #dirty = new Set<string>();
  readonly #rates: Readonly<Record<Direction, Map<string, string>>> = { ingress: new Map(), egress: new Map() };

  constructor(tables: DesiredTables, endpoints: WorkloadEndpoints) {
    this.#tables = tables;
    this.#endpoints = endpoints;
    endpoints.onInterfaceChange.add((name) => this.#dirty.add(name));
  }

  get #isPresent(): boolean {
    return this.#rates.ingress.size + this.#rates.egress.size > 0;
  }

  onUpdate(_message: ToDataplane): void {
    // The registry of endpoints has its own ear.
  }

  completeDeferredWork(): void {
    const wasPresent = this.#isPresent;
    let isDispatchStale = false;
    for (const name of this.#dirty)
      for (const direction of DIRECTIONS) if (this.#update(name, direction)) isDispatchStale = true;
    this.#dirty.clear();
    if (!isDispatchStale) return;
    const names = (direction: Direction): string[] => [...this.#rates[direction].keys()].sort(compareStrings);
    const { chain, maps } = packetRateDispatch({ ingress: names("ingress"), egress: names("egress") });
    for (const table of this.#tables.values()) {
      table.offerChain(chain.name, () => chain);
      for (const map of maps) table.offerMap(map);
    }
    if (this.#isPresent !== wasPresent) this.onPresenceChange.notify(this.#isPresent);
  }

  /** True when the interface has a rate now that had none, or the other way round. */
  #update(name: string, direction: Direction): boolean {
    const rates = this.#rates[direction];
    const { packets } = qosLimits(this.#endpoints.ownerOf(name)?.endpoint.qos_controls, direction);
    const known = rates.get(name);
    if (packets === undefined) {
      if (!rates.delete(name)) return false;
      const chain = layered("filter", packetRateChain(direction, name));
      for (const table of this.#tables.values()) table.withdrawChain(chain);
      return true;
    }
    const text = JSON.stringify(packets);
    if (text === known) return false;
    rates.set(name, text);
    const chain = renderPacketRate(name, direction, packets);
    for (const table of this.#tables.values()) table.offerChain(chain.name, () => chain);
    return known === undefined;
  }
}
