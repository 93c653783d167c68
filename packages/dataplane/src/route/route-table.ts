import { hasErrno, isNotFound, type NetlinkError, type Route } from "@bulrush/netlink";
import type { DriftItem } from "../drift/drift-report.ts";
import type { RouteAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { Family } from "../render/statements.ts";
import { AddressOwners, singleAddress } from "./address-owners.ts";
import { InterfaceGrace } from "./interface-grace.ts";
import { sameRoute, selectorOf, toRoute } from "./kernel-route.ts";
import {
  destinationOf,
  RouteCandidates,
  type RouteKey,
  routeKey,
  siblingKey,
  type Winner,
} from "./route-candidates.ts";
import type { RouteClass, RouteTarget } from "./route-class.ts";
import { isOwnRoute, isWorkloadInterface, type RouteOwnership } from "./route-ownership.ts";

/** RT_TABLE_MAIN. */
const MAIN_TABLE = 254;

/** The kernel's metric for IPv6 routes that name none (IP6_RT_PRIO_USER). */
const IPV6_DEFAULT_METRIC = 1024;

/** Errors of a write that only mean that the interface is down or gone by now. */
const INTERFACE_WENT = ["ENETDOWN", "ENODEV", "ENXIO", "ENETUNREACH"] as const;

/** What one {@link RouteTable.release} did. */
export interface ReleaseResult {
  /** Addresses that a workload had until now: their flows have to go before the addresses are routed again. */
  readonly freed: readonly string[];
  readonly writes: number;
  /** Routes found other than wanted, beside what was to be written anyway. */
  readonly drift: readonly DriftItem[];
  readonly failures: readonly string[];
}

/** What one {@link RouteTable.apply} did. */
export interface RouteResult {
  readonly writes: number;
  /** In words, for the log. Empty: all is well. */
  readonly failures: readonly string[];
  /** What cannot be had though nothing failed, each told once. */
  readonly warnings: readonly string[];
  /** When to call again although nothing changed: the end of a grace period. */
  readonly againAtMs: number | undefined;
}

/**
 * The routes of one family in the main table: what is wanted, and what the kernel has of ours. Other people's routes are
 * left alone (route-ownership.ts says which are ours). One round is `release`, then, once the flows of the freed
 * addresses are deleted, `apply`.
 *
 * Invariant: `#kernel` is our routes as last listed, with all writes since; every key whose wish or whose kernel state
 * may be out of step is in `#dirty`.
 */
export class RouteTable {
  readonly #family: Family;
  readonly #interfaces: Interfaces;
  readonly #ownership: RouteOwnership;
  readonly #owners = new AddressOwners();
  readonly #candidates = new RouteCandidates();
  readonly #kernel = new Map<RouteKey, Route>();
  readonly #dirty = new Set<RouteKey>();
  /** Of every key in sight: few. */
  readonly #metrics = new Set<number>();
  readonly #rescan = new Set<string>();
  readonly #grace: InterfaceGrace;
  /** Keys that are dirty because the kernel refused the last write of them. */
  readonly #refused = new Set<RouteKey>();
  /** Freed addresses that nobody has been told of yet: the write that freed them has lost its answer. */
  #freed: string[] = [];
  /** Interfaces that were told of because IPv6 is off there. */
  readonly #withoutIpv6 = new Set<string>();
  #resyncNeeded = true;
  #listedOnce = false;
  /** Routes found gone by a notice, since the last round, by the interface that they led to. */
  #noticed: { readonly item: DriftItem; readonly interfaceName: string | undefined }[] = [];
  /** Keys that are dirty only because a notice says that somebody else has changed them. */
  readonly #suspects = new Set<RouteKey>();

  constructor(family: Family, interfaces: Interfaces, ownership: RouteOwnership) {
    this.#family = family;
    this.#interfaces = interfaces;
    this.#ownership = ownership;
    this.#grace = new InterfaceGrace(interfaces, ownership.interfacePrefixes);
  }

  /** The number of our routes in the kernel. */
  get size(): number {
    return this.#kernel.size;
  }

  /** Replaces what a class wants on an interface; written at the next {@link apply}. */
  setRoutes(routeClass: RouteClass, interfaceName: string, targets: readonly RouteTarget[]): void {
    for (const key of this.#candidates.replace(routeClass, interfaceName, targets)) this.#dirty.add(key);
    for (const { metric } of targets) this.#metrics.add(metric);
  }

  /** One route more that a class wants on an interface, or another in its place. */
  putRoute(routeClass: RouteClass, interfaceName: string, target: RouteTarget): void {
    this.#dirty.add(this.#candidates.put(routeClass, interfaceName, target));
    this.#metrics.add(target.metric);
  }

  /** One route less, by its network and metric. */
  dropRoute(routeClass: RouteClass, interfaceName: string, { destination, metric }: RouteTarget): void {
    const key = routeKey(destination, metric);
    this.#candidates.drop(routeClass, interfaceName, key);
    this.#dirty.add(key);
  }

  /** Something happened to the interface: its routes are listed and judged again. */
  touchInterface(name: string): void {
    this.#rescan.add(name);
    if (this.#interfaces.get(name) === undefined) this.#withoutIpv6.delete(name);
    // It goes, or has gone down, or lost its addresses: the kernel tells of routes first.
    this.#noticed = this.#noticed.filter(({ interfaceName }) => interfaceName !== name);
    for (const key of this.#candidates.keysOf(name)) this.#dirty.add(key);
  }

  /**
   * The kernel tells that a route came, changed or went. True when it is one of ours and not as we left it; the next
   * round repairs it. What we wrote ourselves comes back this way too, and is as we left it. (A route that we deleted and
   * wrote again at once may be taken for lost: it is written once more then.)
   */
  notice(route: Route, gone: boolean): boolean {
    if ((route.table ?? MAIN_TABLE) !== MAIN_TABLE) return false;
    const key = this.#keyOf(route);
    const known = this.#kernel.get(key);
    if (known === undefined || sameRoute(known, route) !== gone) return false;
    if (gone) {
      this.#kernel.delete(key);
      // Routes of an interface that is not up go without anybody's doing.
      if (route.device === undefined || this.#interfaces.byIndex(route.device)?.up === true)
        this.#noticed.push({
          item: this.#drift("missing", route),
          interfaceName: this.#interfaces.byIndex(route.device ?? 0)?.name,
        });
    } else {
      // It may be an older write of ours: the listing decides.
      if (!this.#dirty.has(key)) this.#suspects.add(key);
      this.#resyncNeeded = true;
    }
    this.#dirty.add(key);
    return true;
  }

  /** True when each route that is wanted on the interface is in the kernel, or was refused when it was written last. */
  isTried(interfaceName: string): boolean {
    for (const key of this.#candidates.keysOf(interfaceName))
      if (this.#dirty.has(key) && !this.#refused.has(key)) return false;
    return true;
  }

  /** List everything at the next {@link apply}. */
  queueResync(): void {
    this.#resyncNeeded = true;
  }

  /**
   * Lists what has to be listed, and deletes the routes of addresses that their workloads have no more. Throws when a
   * listing fails, or when it is not known which writes were done; the next call then lists everything.
   */
  release(access: RouteAccess, nowMs: number): ReleaseResult {
    this.#grace.note(nowMs, (name) => this.#candidates.keysOf(name).next().done !== true);
    const drift = [...this.#refresh(access), ...this.#noticed.map(({ item }) => item)];
    this.#noticed = [];
    const deletes = new Writes();
    for (const key of this.#dirty) {
      const destination = destinationOf(key);
      const address = singleAddress(destination);
      if (address === undefined) continue;
      const others = this.#takeFromOwner(destination, key, nowMs);
      if (others === undefined) continue;
      this.#freed.push(address);
      for (const other of others) {
        const route = this.#kernel.get(other);
        if (route !== undefined) deletes.add(other, { kind: "delete-route", route: selectorOf(route) });
      }
    }
    const { failures } = this.#write(access, deletes);
    const freed = this.#freed;
    this.#freed = [];
    return { freed, writes: deletes.operations.length, drift, failures };
  }

  /**
   * Settles who has the address. Gives the keys whose kernel routes lead to whoever had it before, or `undefined` when
   * nobody had.
   */
  #takeFromOwner(destination: string, known: RouteKey, nowMs: number): RouteKey[] | undefined {
    const change = this.#owners.change(destination, known, this.#candidates, this.#interfaces);
    if (change.kind === "same") return undefined;
    const { device } = change;
    const others: RouteKey[] = [];
    for (const metric of this.#metrics) {
      const key = siblingKey(known, destination, metric);
      const route = this.#kernel.get(key);
      if (route === undefined || route.device === device) continue;
      if (change.kind === "claimed" || route.device === change.from) others.push(key);
    }
    // The interface of an address that we know from its route alone may get its endpoint yet.
    const graced = device === undefined && others.some((key) => this.#grace.has(this.#kernel.get(key), nowMs));
    if (graced) return undefined;
    this.#owners.settle(destination, device);
    return change.kind === "freed" || others.length > 0 ? others : undefined;
  }

  /**
   * Makes the kernel's routes what is wanted, but for addresses that are held. Throws when it is not known which writes
   * were done; the next {@link release} then lists everything, and what was to be written is tried again.
   */
  apply(access: RouteAccess, nowMs: number, isHeld: (address: string) => boolean): RouteResult {
    const kept = new Set<RouteKey>();
    const graced = new Set<RouteKey>();
    const deletes = new Writes();
    const writes = new Writes();
    for (const key of this.#dirty) {
      const winner = this.#candidates.winner(key, this.#interfaces);
      const wanted = winner === undefined ? undefined : toRoute(winner);
      const present = this.#kernel.get(key);
      if (wanted === undefined && present !== undefined) {
        if (this.#grace.has(present, nowMs)) graced.add(key);
        else deletes.add(key, { kind: "delete-route", route: selectorOf(present) });
      } else if (winner !== undefined && this.#mustWait(winner, isHeld)) kept.add(key);
      else if (wanted !== undefined && (present === undefined || !sameRoute(wanted, present))) {
        // An IPv6 route to another device is one more route, not a replacement.
        if (this.#family === 6 && present !== undefined && present.device !== wanted.device)
          deletes.add(key, { kind: "delete-route", route: selectorOf(present) });
        writes.add(key, { kind: "replace-route", route: wanted });
      }
    }
    this.#dirty.clear();
    this.#refused.clear();
    for (const key of [...graced, ...kept]) this.#dirty.add(key);
    deletes.append(writes);
    const { failures, warnings } = this.#write(access, deletes);
    return {
      writes: deletes.operations.length,
      failures,
      warnings,
      againAtMs: this.#grace.firstEndMs([...graced].map((key) => this.#kernel.get(key))),
    };
  }

  #write(access: RouteAccess, { keys, operations }: Writes): Pick<RouteResult, "failures" | "warnings"> {
    if (operations.length === 0) return { failures: [], warnings: [] };
    const failed = new Map<number, NetlinkError>();
    try {
      for (const { error, index } of access.apply(operations)) failed.set(index, error);
    } catch (error) {
      for (const key of keys) this.#dirty.add(key);
      this.#resyncNeeded = true;
      throw error;
    }
    const failures: string[] = [];
    const warnings: string[] = [];
    for (const [index, operation] of operations.entries()) {
      const key = keys[index] ?? "";
      const error = failed.get(index);
      if (error === undefined || (operation.kind === "delete-route" && isNotFound(error))) this.#book(key, operation);
      else {
        this.#dirty.add(key);
        this.#refused.add(key);
        const { destination, device } = operation.route;
        const name = this.#interfaces.byIndex(device ?? 0)?.name;
        if (hasErrno(error, ...INTERFACE_WENT)) {
          // The monitor will tell; until then there is nothing to be done about it.
          if (name !== undefined) this.#rescan.add(name);
        } else if (this.#isIpv6Off(operation, error) && name !== undefined) {
          if (!this.#withoutIpv6.has(name)) warnings.push(`No route to ${destination} by ${name}: ${error.message}`);
          this.#withoutIpv6.add(name);
        } else {
          failures.push(`${operation.kind} ${destination}: ${error.message}`);
          this.#resyncNeeded = true;
        }
      }
    }
    return { failures, warnings };
  }

  /** disable_ipv6 of the interface: somebody's wish. It is tried again with each round. */
  #isIpv6Off({ kind }: RouteWrite, error: NetlinkError): boolean {
    return this.#family === 6 && kind === "replace-route" && hasErrno(error, "EACCES");
  }

  /** The kernel has done it. */
  #book(key: RouteKey, { kind, route }: RouteWrite): void {
    if (kind === "delete-route") this.#kernel.delete(key);
    else this.#kernel.set(key, route);
  }

  /** Lists what has to be listed, and marks what came out other than expected. */
  #refresh(access: RouteAccess): DriftItem[] {
    if (this.#resyncNeeded) {
      const listed = this.#list(access.routes({ family: this.#family }));
      this.#resyncNeeded = false;
      this.#rescan.clear();
      const drift = this.#adopt(listed, () => true);
      this.#suspects.clear();
      this.#listedOnce = true;
      return drift;
    }
    if (this.#rescan.size > 0) this.#forgetGone();
    const drift: DriftItem[] = [];
    for (const name of this.#rescan) {
      const device = this.#interfaces.get(name)?.index;
      if (device !== undefined)
        drift.push(
          ...this.#adopt(
            this.#list(access.routes({ family: this.#family, device })),
            (route) => route.device === device,
          ),
        );
    }
    this.#rescan.clear();
    return drift;
  }

  /** Routes leave with their interface. */
  #forgetGone(): void {
    for (const [key, { device }] of this.#kernel)
      if (device !== undefined && this.#interfaces.byIndex(device) === undefined) {
        this.#kernel.delete(key);
        this.#dirty.add(key);
      }
  }

  #list(routes: readonly Route[]): Map<RouteKey, Route> {
    const own = new Map<RouteKey, Route>();
    const others: Route[] = [];
    for (const route of routes)
      if (isOwnRoute(route, this.#interfaces, this.#ownership)) own.set(this.#keyOf(route), route);
      else others.push(route);
    // With a configured protocol nothing but what it says tells that a route is ours. A foreign one may share its key.
    for (const route of others) {
      const key = this.#keyOf(route);
      if (!own.has(key) && this.#isAsOurs(key, route)) own.set(key, route);
    }
    for (const route of own.values()) this.#metrics.add(this.#metric(route));
    return own;
  }

  /** True for a route as we have written it, or would. */
  #isAsOurs(key: RouteKey, route: Route): boolean {
    const known = this.#kernel.get(key);
    if (known !== undefined && sameRoute(known, route)) return true;
    const winner = this.#candidates.winner(key, this.#interfaces);
    return winner !== undefined && sameRoute(toRoute(winner), route);
  }

  #keyOf(route: Route): RouteKey {
    return routeKey(route.destination, this.#metric(route), route.tos);
  }

  #adopt(listed: ReadonlyMap<RouteKey, Route>, covers: (route: Route) => boolean): DriftItem[] {
    const drift: DriftItem[] = [];
    for (const [key, route] of this.#kernel)
      if (covers(route) && !listed.has(key)) {
        this.#kernel.delete(key);
        if (this.#isForeign(key)) drift.push(this.#drift("missing", route));
        this.#dirty.add(key);
      }
    for (const [key, route] of listed) {
      const known = this.#kernel.get(key);
      this.#kernel.set(key, route);
      if (!this.#listedOnce) this.#noteOwner(route);
      if (known !== undefined && sameRoute(known, route)) continue;
      if (this.#listedOnce && this.#isForeign(key))
        drift.push(this.#drift(known === undefined ? "unknown" : "changed", route));
      this.#dirty.add(key);
    }
    return drift;
  }

  /** True when what is other than expected there is not our own doing. */
  #isForeign(key: RouteKey): boolean {
    return !this.#dirty.has(key) || this.#suspects.has(key);
  }

  #drift(what: DriftItem["what"], { destination, device, via }: Route): DriftItem {
    const name = device === undefined ? undefined : this.#interfaces.byIndex(device)?.name;
    const words = [via === undefined ? "" : `via ${via}`, name === undefined ? "" : `dev ${name}`];
    return { kind: "route", name: destination, what, detail: words.filter((word) => word !== "").join(" ") };
  }

  /**
   * What the kernel has other than wanted, without any consequence. Routes in their grace are none. Throws when the
   * listing fails.
   */
  inspect(access: RouteAccess, nowMs: number): DriftItem[] {
    const listed = this.#list(access.routes({ family: this.#family }));
    const items: DriftItem[] = [];
    for (const [key, route] of listed) {
      const winner = this.#candidates.winner(key, this.#interfaces);
      if (winner === undefined) {
        if (!this.#grace.has(route, nowMs)) items.push(this.#drift("unknown", route));
      } else if (!sameRoute(toRoute(winner), route)) items.push(this.#drift("changed", route));
    }
    for (const key of this.#candidates.keys()) {
      const winner = listed.has(key) ? undefined : this.#candidates.winner(key, this.#interfaces);
      if (winner !== undefined) items.push(this.#drift("missing", toRoute(winner)));
    }
    return items;
  }

  /** True while flows of an address are to be deleted, and when its workload is not the one that `release` knew. */
  #mustWait({ candidate: { routeClass, target }, device }: Winner, isHeld: (address: string) => boolean): boolean {
    const address = singleAddress(target.destination);
    if (address === undefined) return false;
    return isHeld(address) || (routeClass === "local-workload" && this.#owners.deviceOf(target.destination) !== device);
  }

  #metric(route: Route): number {
    const metric = route.metric ?? 0;
    return this.#family === 6 && metric === 0 ? IPV6_DEFAULT_METRIC : metric;
  }

  /** At the start, routes tell which workloads the agent before us had let in. */
  #noteOwner({ destination, device }: Route): void {
    if (device === undefined || singleAddress(destination) === undefined) return;
    const name = this.#interfaces.byIndex(device)?.name;
    if (name !== undefined && isWorkloadInterface(name, this.#ownership.interfacePrefixes))
      this.#owners.note(destination, device);
  }
}

interface RouteWrite {
  readonly kind: "replace-route" | "delete-route";
  readonly route: Route;
}

/** Operations, each with the key that it is about. */
class Writes {
  readonly keys: RouteKey[] = [];
  readonly operations: RouteWrite[] = [];

  add(key: RouteKey, operation: RouteWrite): void {
    this.keys.push(key);
    this.operations.push(operation);
  }

  append({ keys, operations }: Writes): void {
    for (const key of keys) this.keys.push(key);
    for (const operation of operations) this.operations.push(operation);
  }
}
