/** A client that was announced is there after this long, or has gone elsewhere. */
const HELD_MS = 3000;
/** What is over is kept so long for the streams that show up late: they came in time, and take no other place. */
const KEPT_MS = 2 * HELD_MS;

interface Reservation {
  readonly atMs: number;
  readonly type: string | undefined;
}

/** A stream that is here: whose, since when, and of which type. */
interface Arrival {
  readonly clientId: string;
  readonly connectedAtMs: number;
  readonly type: string;
}

/**
 * Places of this server that are promised to clients of others: without them, servers that hand over at the same time
 * would all see the same free place. Times are Unix ms.
 *
 * Each stream takes one place, the oldest that was free for it when it came: where streams come as fast as places are
 * promised, one must not stand for two.
 *
 * Invariant: places are in order of time. `#seen` are the streams since the oldest of them that have taken theirs, or
 * found none.
 */
export class Reservations {
  #places: readonly Reservation[] = [];
  #seen: ReadonlySet<string> = new Set();

  /** `type`: of the stream that is to come; undefined: not told. */
  add(nowMs: number, type?: string): void {
    this.#places = [...this.#places, { atMs: nowMs, type }];
  }

  /** Promised to clients that have not come yet. `arrivals`: all streams that are here. */
  count(nowMs: number, arrivals: Iterable<Arrival>): number {
    return this.#free(nowMs, arrivals).length;
  }

  /** The same by type, for those types that anything is promised to. */
  countTypes(nowMs: number, arrivals: Iterable<Arrival>): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { type } of this.#free(nowMs, arrivals))
      if (type !== undefined) counts.set(type, (counts.get(type) ?? 0) + 1);
    return counts;
  }

  #free(nowMs: number, arrivals: Iterable<Arrival>): readonly Reservation[] {
    // One of the future is from before the clock was set back: it would last until then.
    const places = this.#places.filter(({ atMs }) => atMs <= nowMs && nowMs - atMs < KEPT_MS);
    const [oldest] = places;
    const came = oldest === undefined ? [] : [...arrivals].filter((one) => one.connectedAtMs >= oldest.atMs);
    for (const arrival of came.toSorted((a, b) => a.connectedAtMs - b.connectedAtMs)) {
      if (this.#seen.has(arrival.clientId)) continue;
      const index = placeFor(arrival, places);
      if (index >= 0) places.splice(index, 1);
    }
    this.#places = places;
    this.#seen = new Set(came.map(({ clientId }) => clientId));
    return places.filter(({ atMs }) => nowMs - atMs < HELD_MS);
  }
}

/** The oldest that was promised before it came: of its type, else of any; -1: none. */
function placeFor({ connectedAtMs, type }: Arrival, places: readonly Reservation[]): number {
  const isOpen = ({ atMs }: Reservation): boolean => atMs <= connectedAtMs && connectedAtMs - atMs < HELD_MS;
  const own = places.findIndex((place) => place.type === type && isOpen(place));
  return own >= 0 ? own : places.findIndex((place) => place.type === undefined && isOpen(place));
}
