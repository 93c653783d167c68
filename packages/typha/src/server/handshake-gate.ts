import type { CancelTimer, Clock } from "@bulrush/base";

/** Handshakes that run at once: each costs about a millisecond of CPU, and streams and timers wait for that. */
const RUNNING = 64;
/** A peer that is slower than this gives its place to the next: what it costs is memory only. */
const SLOW_MS = 100;
/** All that are not through, slow and waiting ones included. */
const MAX_TOTAL = 4096;

/** One connection on its way through the gate. */
export interface GatePass {
  /** It is through, or gone. Twice is fine. */
  done(): void;
}

interface Entry {
  state: "waiting" | "running" | "slow" | "done";
  readonly start: () => void;
  cancelTimer: CancelTimer;
}

/**
 * Lets few handshakes run at a time, so that a fleet that comes back at once does not stop the streams of those that are
 * there. A peer that says nothing keeps nobody out: after a tenth of a second the next has its turn.
 *
 * Invariant: `#running` entries are in state "running"; `#waiting` holds those in state "waiting" in order of arrival,
 * and perhaps some that are done; `#total` counts all that are not done.
 */
export class HandshakeGate {
  readonly #clock: Clock;
  readonly #waiting: Entry[] = [];
  #running = 0;
  #total = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Handshakes that are not through. */
  get total(): number {
    return this.#total;
  }

  /** Calls `start` when it is this connection's turn, at once if it can be. Undefined: there are too many. */
  enter(start: () => void): GatePass | undefined {
    if (this.#total >= MAX_TOTAL) return undefined;
    const entry: Entry = { state: "waiting", start, cancelTimer: () => {} };
    this.#total++;
    this.#waiting.push(entry);
    this.#fill();
    return { done: () => this.#end(entry) };
  }

  #fill(): void {
    while (this.#running < RUNNING) {
      const entry = this.#waiting.shift();
      if (entry === undefined) return;
      if (entry.state !== "waiting") continue;
      entry.state = "running";
      this.#running++;
      entry.cancelTimer = this.#clock.after(SLOW_MS, () => {
        entry.state = "slow";
        this.#running--;
        this.#fill();
      });
      entry.start();
    }
  }

  #end(entry: Entry): void {
    if (entry.state === "done") return;
    entry.cancelTimer();
    const wasRunning = entry.state === "running";
    entry.state = "done";
    this.#total--;
    if (!wasRunning) return;
    this.#running--;
    this.#fill();
  }
}
