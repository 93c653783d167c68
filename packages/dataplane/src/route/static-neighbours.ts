import { hasErrno, isNotFound, type Neighbour, type RouteOperation } from "@bulrush/netlink";
import type { DriftItem } from "../drift/drift-report.ts";
import type { RouteAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";

/** NUD_PERMANENT (linux/neighbour.h). */
const PERMANENT = 0x80;

interface Entry {
  readonly interfaceName: string;
  readonly address: string;
  readonly mac: string;
}

export interface NeighbourResult {
  readonly writes: number;
  readonly drift: readonly DriftItem[];
  readonly failures: readonly string[];
}

/**
 * Permanent IPv4 neighbours of workloads whose MAC address is known, so that nobody has to answer for them. Entries that
 * we did not write ourselves are never removed.
 *
 * Invariant: `#written` holds what the kernel took from us, by interface name and address, with the index it was for.
 */
export class StaticNeighbours {
  readonly #interfaces: Interfaces;
  readonly #wanted = new Map<string, Entry>();
  readonly #keysOf = new Map<string, ReadonlySet<string>>();
  readonly #written = new Map<string, { readonly entry: Entry; readonly device: number }>();
  #stale = true;
  #resyncNeeded = true;

  constructor(interfaces: Interfaces) {
    this.#interfaces = interfaces;
  }

  /** Replaces the neighbours of an interface: address to MAC. */
  set(interfaceName: string, macs: ReadonlyMap<string, string>): void {
    for (const key of this.#keysOf.get(interfaceName) ?? []) this.#wanted.delete(key);
    const keys = new Set<string>();
    for (const [address, mac] of macs) {
      const key = `${interfaceName} ${address}`;
      keys.add(key);
      this.#wanted.set(key, { interfaceName, address, mac: mac.toLowerCase() });
    }
    if (keys.size === 0) this.#keysOf.delete(interfaceName);
    else this.#keysOf.set(interfaceName, keys);
    this.#stale = true;
  }

  /** The interface may have lost its entries. */
  touchInterface(name: string): void {
    for (const key of this.#keysOf.get(name) ?? []) this.#written.delete(key);
    this.#stale = true;
  }

  queueResync(): void {
    this.#resyncNeeded = true;
    this.#stale = true;
  }

  /**
   * Writes what is missing or different, and removes what we wrote and nobody wants. Throws when a listing fails, or when
   * it is not known which writes were done; what was to be done is tried again at the next call.
   */
  apply(access: RouteAccess): NeighbourResult {
    if (!this.#stale) return { writes: 0, drift: [], failures: [] };
    const drift = this.#resyncNeeded ? this.#resync(access) : [];
    const operations: RouteOperation[] = [];
    const keys: string[] = [];
    for (const [key, { entry, device }] of this.#written)
      if (!this.#wanted.has(key) || this.#interfaces.get(entry.interfaceName)?.index !== device) {
        // An interface that is gone has taken its entries along.
        if (this.#interfaces.byIndex(device) === undefined) this.#written.delete(key);
        else {
          operations.push({ kind: "delete-neighbour", neighbour: { device, address: entry.address } });
          keys.push(key);
        }
      }
    for (const [key, entry] of this.#wanted) {
      const known = this.#interfaces.get(entry.interfaceName);
      const written = this.#written.get(key);
      if (known?.up !== true || (written?.entry.mac === entry.mac && written.device === known.index)) continue;
      const neighbour: Neighbour = { device: known.index, address: entry.address, mac: entry.mac, state: PERMANENT };
      operations.push({ kind: "replace-neighbour", neighbour });
      keys.push(key);
    }
    const failures = operations.length === 0 ? [] : this.#write(access, operations, keys);
    this.#stale = failures.length > 0;
    return { writes: operations.length, drift, failures };
  }

  #write(access: RouteAccess, operations: readonly RouteOperation[], keys: readonly string[]): string[] {
    const errors = new Map(access.apply(operations).map(({ index, error }) => [index, error]));
    const failures: string[] = [];
    for (const [i, operation] of operations.entries()) {
      const error = errors.get(i);
      const key = keys[i] ?? "";
      const entry = this.#wanted.get(key);
      const done = error === undefined || isNotFound(error);
      if (operation.kind === "delete-neighbour" && done) this.#written.delete(key);
      else if (operation.kind === "replace-neighbour" && error === undefined && entry !== undefined)
        this.#written.set(key, { entry, device: operation.neighbour.device });
      else if (error !== undefined && !done && !hasErrno(error, "ENETDOWN"))
        failures.push(`${operation.kind} ${key}: ${error.message}`);
    }
    return failures;
  }

  /** Takes over what is there as wanted already, and forgets what is gone. */
  #resync(access: RouteAccess): DriftItem[] {
    this.#resyncNeeded = false;
    const listed = this.#list(access);
    const drift: DriftItem[] = [];
    for (const [key, { entry }] of this.#written)
      if (listed.get(key) !== entry.mac) {
        this.#written.delete(key);
        drift.push(driftOf(entry, listed.get(key)));
      }
    for (const [key, entry] of this.#wanted) {
      const device = this.#interfaces.get(entry.interfaceName)?.index;
      if (device !== undefined && listed.get(key) === entry.mac) this.#written.set(key, { entry, device });
    }
    return drift;
  }

  /** The permanent entries by interface name and address. */
  #list(access: RouteAccess): Map<string, string> {
    const listed = new Map<string, string>();
    for (const { address, device, mac, state } of access.neighbours({ family: 4 })) {
      const name = this.#interfaces.byIndex(device)?.name;
      if (name !== undefined && address !== undefined && mac !== undefined && ((state ?? 0) & PERMANENT) !== 0)
        listed.set(`${name} ${address}`, mac.toLowerCase());
    }
    return listed;
  }

  /** What is not as wanted on interfaces that are up, without any consequence. Throws when the listing fails. */
  inspect(access: RouteAccess): DriftItem[] {
    const listed = this.#list(access);
    return [...this.#wanted].flatMap(([key, entry]) =>
      this.#interfaces.get(entry.interfaceName)?.up === true && listed.get(key) !== entry.mac
        ? [driftOf(entry, listed.get(key))]
        : [],
    );
  }
}

function driftOf({ address, interfaceName, mac }: Entry, present: string | undefined): DriftItem {
  const what = present === undefined ? "missing" : "changed";
  return { kind: "neighbour", name: `${address} on ${interfaceName}`, what, detail: `lladdr ${mac}` };
}
