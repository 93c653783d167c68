/** A client that was announced is there after this long, or has gone elsewhere. */
const HELD_MS = 3000;

interface Reservation {
  readonly atMs: number;
  readonly type: string | undefined;
}

/** A stream that is here: since when, and of which type. */
interface Arrival {
  readonly connectedAtMs: number;
  readonly type: string;
}

/**
 * Places of this server that are promised to clients of others: without them, servers that hand over at the same time
 * would all see the same free place. Times are Unix ms.
 *
 * Invariant: in order of time; those that are over go at the next call.
 */
export class Reservations {
  #held: readonly Reservation[] = [];

  /** `type`: of the stream that is to come; undefined: not told. */
  add(nowMs: number, type?: string): void {
    this.#held = [...this.#heldAt(nowMs), { atMs: nowMs, type }];
  }

  /** Promised to clients that have not come yet. `arrivals`: all streams that are here. */
  count(nowMs: number, arrivals: Iterable<Arrival>): number {
    this.#held = this.#heldAt(nowMs);
    return missing(this.#held, arrivals);
  }

  /** The same by type, for those types that anything is promised to. */
  countTypes(nowMs: number, arrivals: readonly Arrival[]): ReadonlyMap<string, number> {
    this.#held = this.#heldAt(nowMs);
    const types = new Set(this.#held.flatMap(({ type }) => type ?? []));
    const countOf = (type: string): number =>
      missing(
        this.#held.filter((one) => one.type === type),
        arrivals.filter((one) => one.type === type),
      );
    return new Map([...types].map((type) => [type, countOf(type)]));
  }

  #heldAt(nowMs: number): readonly Reservation[] {
    return this.#held.filter(({ atMs }) => nowMs - atMs < HELD_MS);
  }
}

function missing(held: readonly Reservation[], arrivals: Iterable<Arrival>): number {
  const [first] = held;
  if (first === undefined) return 0;
  let arrived = 0;
  for (const { connectedAtMs } of arrivals) if (connectedAtMs >= first.atMs) arrived++;
  return Math.max(0, held.length - arrived);
}
