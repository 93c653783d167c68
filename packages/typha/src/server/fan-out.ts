import type { Clock } from "@bulrush/base";

/** What a fan-out hands frames to: a session's stream. */
export interface FanOutTarget {
  pump(): void;
}

/** Streams in one turn of the event loop: about 1 ms. */
const SLICE = 128;

/**
 * Tells the streams of one type that the chain has grown. In slices, so that timers and acks get their turn between
 * them; a slice later in the round simply hands over more. What is published during a round makes one more round.
 *
 * Invariant: at most one round runs.
 */
export class FanOut {
  readonly #clock: Clock;
  readonly #defer: (callback: () => void) => void;
  readonly #targets: () => Iterable<FanOutTarget>;
  readonly #onRound: (durationMs: number) => void;
  #running = false;
  #again = false;

  /**
   * `targets` is walked over several turns of the event loop: who joins meanwhile may be told, who has left need not be.
   * `onRound` hears how long each round took, from its publish to the hand-over to the last stream.
   */
  constructor(
    clock: Clock,
    defer: (callback: () => void) => void,
    targets: () => Iterable<FanOutTarget>,
    onRound: (durationMs: number) => void,
  ) {
    this.#clock = clock;
    this.#defer = defer;
    this.#targets = targets;
    this.#onRound = onRound;
  }

  onPublish(): void {
    if (this.#running) this.#again = true;
    else this.#round();
  }

  #round(): void {
    this.#running = true;
    this.#again = false;
    this.#slice(this.#targets()[Symbol.iterator](), this.#clock.monotonicMs());
  }

  #slice(targets: Iterator<FanOutTarget>, startMs: number): void {
    for (let i = 0; i < SLICE; i++) {
      const target = targets.next();
      if (target.done === true) {
        this.#endRound(startMs);
        return;
      }
      target.value.pump();
    }
    this.#defer(() => this.#slice(targets, startMs));
  }

  #endRound(startMs: number): void {
    this.#running = false;
    this.#onRound(this.#clock.monotonicMs() - startMs);
    if (this.#again) this.#round();
  }
}
