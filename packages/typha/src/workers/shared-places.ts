import type { StreamPlaces } from "../server/sync-server.ts";

/**
 * How many streams each worker has, in memory that all of them see: together they keep MaxConnectionsUpperLimit.
 *
 * Invariant: a worker writes its own slot only, and the main thread that of a worker that has ended.
 */
export class SharedPlaces {
  readonly memory: SharedArrayBuffer;
  readonly #counts: Int32Array;

  /** With a number of workers: new ones, all free. */
  constructor(from: SharedArrayBuffer | number) {
    this.memory = typeof from === "number" ? new SharedArrayBuffer(from * Int32Array.BYTES_PER_ELEMENT) : from;
    this.#counts = new Int32Array(this.memory);
  }

  /** Streams of all workers. */
  get total(): number {
    let sum = 0;
    for (let slot = 0; slot < this.#counts.length; slot++) sum += Atomics.load(this.#counts, slot);
    return sum;
  }

  /** The worker with this number (from 1) has none any more. */
  clear(worker: number): void {
    Atomics.store(this.#counts, worker - 1, 0);
  }

  /**
   * The places of one worker. A place is taken first and given back where there were too many: two workers that want the
   * last one at once may both be refused, but never both get it.
   */
  of(worker: number, max: number): StreamPlaces {
    const slot = worker - 1;
    const set = (own: number): void => void Atomics.store(this.#counts, slot, own);
    return {
      set,
      take: (own) => {
        set(own + 1);
        if (this.total <= max) return true;
        set(own);
        return false;
      },
    };
  }
}
