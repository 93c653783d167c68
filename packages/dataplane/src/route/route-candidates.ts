import type { Interfaces } from "../manager/interfaces.ts";
import { NO_INTERFACE, ROUTE_CLASSES, type RouteClass, type RouteTarget } from "./route-class.ts";

/** The kernel tells routes of one family and table apart by network and metric (we use no TOS). */
export type RouteKey = string;

export function routeKey(destination: string, metric: number): RouteKey {
  return `${destination} ${metric}`;
}

/** One class's wish for one route. */
export interface Candidate {
  readonly routeClass: RouteClass;
  readonly interfaceName: string;
  readonly target: RouteTarget;
}

/** A candidate with the index of its interface; 0 for none. */
export interface Winner {
  readonly candidate: Candidate;
  readonly device: number;
}

/**
 * All routes that anybody wants, by class and interface.
 *
 * Invariant: `#byKey` and `#bySource` hold the same candidates, and no empty map.
 */
export class RouteCandidates {
  readonly #bySource = new Map<string, Map<RouteKey, Candidate>>();
  readonly #byKey = new Map<RouteKey, Map<string, Candidate>>();

  /** Replaces what a class wants on an interface. Gives the keys whose answer may have changed. */
  replace(routeClass: RouteClass, interfaceName: string, targets: readonly RouteTarget[]): Set<RouteKey> {
    const source = `${routeClass} ${interfaceName}`;
    const changed = new Set<RouteKey>();
    for (const key of this.#bySource.get(source)?.keys() ?? []) {
      changed.add(key);
      const others = this.#byKey.get(key);
      others?.delete(source);
      if (others?.size === 0) this.#byKey.delete(key);
    }
    const wanted = new Map<RouteKey, Candidate>();
    for (const target of targets) {
      const key = routeKey(target.destination, target.metric);
      const candidate: Candidate = { routeClass, interfaceName, target };
      wanted.set(key, candidate);
      changed.add(key);
      const others = this.#byKey.get(key) ?? new Map<string, Candidate>();
      this.#byKey.set(key, others.set(source, candidate));
    }
    if (wanted.size === 0) this.#bySource.delete(source);
    else this.#bySource.set(source, wanted);
    return changed;
  }

  /** Keys that somebody wants on this interface. */
  *keysOf(interfaceName: string): Generator<RouteKey> {
    for (const routeClass of ROUTE_CLASSES) yield* this.#bySource.get(`${routeClass} ${interfaceName}`)?.keys() ?? [];
  }

  keys(): Iterable<RouteKey> {
    return this.#byKey.keys();
  }

  /** Who gets the route: the best class on an interface that is up, and of one class the newest interface. */
  winner(key: RouteKey, interfaces: Interfaces): Winner | undefined {
    let best: Winner | undefined;
    for (const candidate of this.#byKey.get(key)?.values() ?? []) {
      const device = deviceOf(candidate.interfaceName, interfaces);
      if (device === undefined) continue;
      const contender: Winner = { candidate, device };
      if (best === undefined || beats(contender, best)) best = contender;
    }
    return best;
  }
}

/** The index of an interface that is up; 0 for no interface. */
function deviceOf(interfaceName: string, interfaces: Interfaces): number | undefined {
  if (interfaceName === NO_INTERFACE) return 0;
  const known = interfaces.get(interfaceName);
  return known?.up === true ? known.index : undefined;
}

function beats(a: Winner, b: Winner): boolean {
  const rank = ROUTE_CLASSES.indexOf(a.candidate.routeClass) - ROUTE_CLASSES.indexOf(b.candidate.routeClass);
  return rank === 0 ? a.device > b.device : rank < 0;
}
