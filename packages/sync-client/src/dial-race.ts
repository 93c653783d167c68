import type { CancelTimer, Clock } from "@bulrush/base";
import type { ServerAddress } from "./server-address.ts";

/** A server that is being dialled. */
export interface Racer {
  readonly address: ServerAddress;
  /** How long ago the server answered; undefined while it has not. */
  answeredMs(): number | undefined;
  /** Ends it without a word to anybody. */
  close(): void;
}

export interface DialRaceOptions {
  readonly clock: Clock;
  /** From one dial to the next, while no server answers. */
  readonly staggerMs: number;
  /** A server that answers is given this long for its welcome before the next is dialled too. */
  readonly patienceMs: number;
  /** At the same time, at most. */
  readonly maxRacers: number;
  /** The next server to dial beside those that are being dialled; undefined: none. */
  readonly next: (racing: readonly ServerAddress[]) => ServerAddress | undefined;
  /** Dials. Exactly one of `won` and `failed` is called, and not from within this call. */
  readonly dial: (address: ServerAddress, outcome: { won(): void; failed(error: Error): void }) => Racer;
}

export type DialRaceResult =
  | { readonly type: "won"; readonly racer: Racer }
  /** All that were dialled; the last one failed last. */
  | { readonly type: "failed"; readonly failures: readonly DialFailure[] };

export interface DialFailure {
  readonly address: ServerAddress;
  readonly error: Error;
}

/**
 * Dials one server, and one more each `staggerMs` while no answer comes, so that a host that swallows packets costs no
 * more than that. A server that answers and is busy is waited for: many clients that dial twice would make it no faster.
 * The first welcome wins, and the others are closed. Over when one has won or none is left.
 *
 * ```
 *  first --dial-----------------x failed
 *  second     --stagger--dial---------> welcome: won
 *  third              --stagger--dial--x closed
 * ```
 * Invariant: `#racers` are those whose outcome is open; the timer runs only while there are some.
 */
export class DialRace {
  readonly result: Promise<DialRaceResult>;
  readonly #options: DialRaceOptions;
  readonly #racers = new Set<Racer>();
  readonly #failures: DialFailure[] = [];
  readonly #resolve: (result: DialRaceResult) => void;
  #cancelNext: CancelTimer | undefined;
  #isOver = false;

  constructor(first: ServerAddress, options: DialRaceOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<DialRaceResult>();
    this.result = promise;
    this.#resolve = resolve;
    this.#start(first);
  }

  /** One has won, or none is left. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Closes all racers; the result is what has failed so far. */
  stop(): void {
    this.#finish({ type: "failed", failures: this.#failures });
  }

  #start(address: ServerAddress): void {
    const racer = this.#options.dial(address, {
      won: () => {
        this.#racers.delete(racer);
        this.#finish({ type: "won", racer });
      },
      failed: (error) => {
        this.#racers.delete(racer);
        this.#failures.push({ address, error });
        if (this.#racers.size === 0) this.#finish({ type: "failed", failures: this.#failures });
      },
    });
    this.#racers.add(racer);
    this.#cancelNext?.();
    this.#cancelNext = this.#options.clock.after(this.#options.staggerMs, () => this.#startNext());
  }

  #startNext(): void {
    const { maxRacers, patienceMs, next, clock, staggerMs } = this.#options;
    const racers = [...this.#racers];
    const isAnswering = racers.some((racer) => (racer.answeredMs() ?? Infinity) < patienceMs);
    const isFull = isAnswering || racers.length >= maxRacers;
    const address = isFull ? undefined : next(racers.map((racer) => racer.address));
    if (address === undefined) this.#cancelNext = clock.after(staggerMs, () => this.#startNext());
    else this.#start(address);
  }

  #finish(result: DialRaceResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelNext?.();
    for (const racer of this.#racers) racer.close();
    this.#racers.clear();
    this.#resolve(result);
  }
}
