import type { Route } from "@bulrush/netlink";
import type { Interfaces } from "../manager/interfaces.ts";
import { isWorkloadInterface } from "./route-ownership.ts";

/** Unknown routes of an interface that we have just met stay this long: its endpoint may not be known yet. */
const GRACE_MS = 10_000;

/**
 * Which workload interfaces are so new that routes on them may stay, though nobody wants them: whoever makes pods writes
 * the route before the endpoint is known here. Ends early once there are routes for the interface.
 *
 * Invariant: `#firstSeenMs` has the interfaces of the last {@link note}, by index; long ago for those whose grace is over.
 */
export class InterfaceGrace {
  readonly #interfaces: Interfaces;
  readonly #prefixes: readonly string[];
  readonly #firstSeenMs = new Map<number, number>();

  constructor(interfaces: Interfaces, prefixes: readonly string[]) {
    this.#interfaces = interfaces;
    this.#prefixes = prefixes;
  }

  /** Looks for interfaces that came and went. `hasRoutes`: an endpoint of the interface is known. */
  note(nowMs: number, hasRoutes: (interfaceName: string) => boolean): void {
    const indices = new Set<number>();
    for (const { index, name } of this.#interfaces.all()) {
      indices.add(index);
      // Once we have had routes for it, there is no grace any more.
      if (hasRoutes(name)) this.#firstSeenMs.set(index, -Infinity);
      else if (!this.#firstSeenMs.has(index)) this.#firstSeenMs.set(index, nowMs);
    }
    for (const index of this.#firstSeenMs.keys()) if (!indices.has(index)) this.#firstSeenMs.delete(index);
  }

  /** True while the route is to stay. */
  has(route: Route | undefined, nowMs: number): boolean {
    const endMs = this.#endMs(route);
    return endMs !== undefined && nowMs < endMs;
  }

  /** When the first of these routes has to be looked at again. */
  firstEndMs(routes: Iterable<Route | undefined>): number | undefined {
    let first: number | undefined;
    for (const route of routes) {
      const endMs = this.#endMs(route);
      if (endMs !== undefined && (first === undefined || endMs < first)) first = endMs;
    }
    return first;
  }

  #endMs(route: Route | undefined): number | undefined {
    if (route?.device === undefined) return undefined;
    const name = this.#interfaces.byIndex(route.device)?.name;
    if (name === undefined || !isWorkloadInterface(name, this.#prefixes)) return undefined;
    const seenMs = this.#firstSeenMs.get(route.device);
    return seenMs === undefined ? undefined : seenMs + GRACE_MS;
  }
}
