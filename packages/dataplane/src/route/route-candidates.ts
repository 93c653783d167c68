import type { Interfaces } from "../manager/interfaces.ts";
import { NO_INTERFACE, ROUTE_CLASSES, type RouteClass, type RouteTarget } from "./route-class.ts";

/** The kernel tells routes of one family and table apart by network, metric and type of service; ours have none. */
export type RouteKey = string;

export function routeKey(destination: string, metric: number, tos = 0): RouteKey {
  return tos === 0 ? `${destination} ${metric}` : `${destination} ${metric} tos ${tos}`;
}

/** `routeKey(destination, metric)`, where `known` is a key of the network: most networks have one metric only. */
export function siblingKey(known: RouteKey, destination: string, metric: number): RouteKey {
  const at = destination.length + 1;
  return Number(known.slice(at)) === metric ? known : routeKey(destination, metric);
}

/** The network of a key. */
export function destinationOf(key: RouteKey): string {
  return key.slice(0, key.indexOf(" "));
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
 * Invariant: `#byKey` and `#bySource` hold the same candidates, and nothing empty; `#metrics` has the metric of each.
 */
export class RouteCandidates {
  readonly #bySource = new Map<string, Map<RouteKey, Candidate>>();
  /** Hardly ever more than one for a key. */
  readonly #byKey = new Map<RouteKey, Candidate[]>();
  readonly #metrics = new Set<number>();

  /** Replaces what a class wants on an interface. Gives the keys whose answer may have changed. */
  replace(routeClass: RouteClass, interfaceName: string, targets: readonly RouteTarget[]): Set<RouteKey> {
    const changed = new Set<RouteKey>();
    for (const key of this.#bySource.get(sourceOf(routeClass, interfaceName))?.keys() ?? []) {
      changed.add(key);
      // The live map may lose the key at hand.
      this.drop(routeClass, interfaceName, key);
    }
    for (const target of targets) changed.add(this.put(routeClass, interfaceName, target));
    return changed;
  }

  /** One wish more, or another in its place. Gives its key. */
  put(routeClass: RouteClass, interfaceName: string, target: RouteTarget): RouteKey {
    const source = sourceOf(routeClass, interfaceName);
    const key = routeKey(target.destination, target.metric);
    this.#metrics.add(target.metric);
    const candidate: Candidate = { routeClass, interfaceName, target };
    let wanted = this.#bySource.get(source);
    if (wanted === undefined) this.#bySource.set(source, (wanted = new Map()));
    wanted.set(key, candidate);
    const others = this.#byKey.get(key);
    if (others === undefined) this.#byKey.set(key, [candidate]);
    else {
      const at = others.findIndex((other) => isOf(other, routeClass, interfaceName));
      if (at < 0) others.push(candidate);
      else others[at] = candidate;
    }
    return key;
  }

  /** One wish less. */
  drop(routeClass: RouteClass, interfaceName: string, key: RouteKey): void {
    const source = sourceOf(routeClass, interfaceName);
    const wanted = this.#bySource.get(source);
    if (wanted?.delete(key) !== true) return;
    if (wanted.size === 0) this.#bySource.delete(source);
    const left = this.#byKey.get(key)?.filter((other) => !isOf(other, routeClass, interfaceName)) ?? [];
    if (left.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, left);
  }

  /** Every key that somebody wants. */
  keys(): Iterable<RouteKey> {
    return this.#byKey.keys();
  }

  /** Keys that somebody wants on this interface. */
  *keysOf(interfaceName: string): Generator<RouteKey> {
    for (const routeClass of ROUTE_CLASSES)
      yield* this.#bySource.get(sourceOf(routeClass, interfaceName))?.keys() ?? [];
  }

  /**
   * The device of the local workload that has this network. `waiting`: one claims it, but its interface is not up.
   * `undefined`: none claims it.
   */
  localDevice(destination: string, known: RouteKey, interfaces: Interfaces): number | "waiting" | undefined {
    let waiting = false;
    for (const metric of this.#metrics) {
      const key = siblingKey(known, destination, metric);
      const candidates = this.#byKey.get(key);
      if (candidates === undefined) continue;
      const winner = this.winner(key, interfaces);
      if (winner?.candidate.routeClass === "local-workload") return winner.device;
      waiting ||= candidates.some(({ routeClass }) => routeClass === "local-workload");
    }
    return waiting ? "waiting" : undefined;
  }

  /** Who gets the route: the best class on an interface that is up, and of one class the newest interface. */
  winner(key: RouteKey, interfaces: Interfaces): Winner | undefined {
    let best: Winner | undefined;
    for (const candidate of this.#byKey.get(key) ?? []) {
      const device = deviceOf(candidate.interfaceName, interfaces);
      if (device === undefined) continue;
      const contender: Winner = { candidate, device };
      if (best === undefined || beats(contender, best)) best = contender;
    }
    return best;
  }
}

function isOf(candidate: Candidate, routeClass: RouteClass, interfaceName: string): boolean {
  return candidate.interfaceName === interfaceName && candidate.routeClass === routeClass;
}

function sourceOf(routeClass: RouteClass, interfaceName: string): string {
  return `${routeClass} ${interfaceName}`;
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
