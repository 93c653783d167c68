import { compareStrings } from "@bulrush/base";
import { formatAddress, parseCidr } from "@bulrush/ip";
import type { ToDataplane } from "@bulrush/proto";
import { DesiredTable } from "../desired/desired-table.ts";
import { ARP_TABLE, arpChain, arpOutput } from "../render/arp-chains.ts";
import type { Manager } from "./manager.ts";
import type { WorkloadEndpoints } from "./workload-endpoints.ts";

/**
 * The table that keeps the host from answering ARP for a workload's own address. Its hook is taken while there are
 * workloads with IPv4 addresses.
 *
 * Invariant: `#addresses` has, by interface, the addresses whose chain is on offer.
 */
export class ArpManager implements Manager {
  readonly table: DesiredTable = new DesiredTable("arp", ARP_TABLE);
  readonly #endpoints: WorkloadEndpoints;
  readonly #dirty = new Set<string>();
  readonly #addresses = new Map<string, string>();

  constructor(endpoints: WorkloadEndpoints) {
    this.#endpoints = endpoints;
    endpoints.onInterfaceChange.add((name) => this.#dirty.add(name));
  }

  onUpdate(_message: ToDataplane): void {
    // The registry of endpoints has its own ear.
  }

  completeDeferredWork(): void {
    const before = this.#addresses.size;
    let isDispatchStale = false;
    for (const name of this.#dirty) {
      const addresses = this.#addressesOf(name);
      const text = addresses.join(" ");
      const known = this.#addresses.get(name);
      if (text === (known ?? "")) continue;
      if (text === "") {
        this.#addresses.delete(name);
        this.table.withdrawChain(arpChain(name, []).name);
        isDispatchStale = true;
        continue;
      }
      const chain = arpChain(name, addresses);
      this.table.offerChain(chain.name, () => chain);
      this.#addresses.set(name, text);
      isDispatchStale ||= known === undefined;
    }
    this.#dirty.clear();
    if (!isDispatchStale) return;
    const { base, map } = arpOutput([...this.#addresses.keys()].sort(compareStrings));
    this.table.offerMap(map);
    if (this.#addresses.size === 0) this.table.withdrawBase(base.name);
    else if (before === 0) this.table.offerBase(base);
  }

  /** Single addresses, sorted. */
  #addressesOf(name: string): string[] {
    const nets = this.#endpoints.ownerOf(name)?.endpoint.ipv4_nets ?? [];
    const addresses = nets.flatMap((net) => {
      const cidr = parseCidr(net);
      return cidr?.family === 4 && cidr.prefixLength === 32 ? [formatAddress(cidr)] : [];
    });
    return [...new Set(addresses)].sort();
  }
}
