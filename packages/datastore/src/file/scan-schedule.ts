import type { CancelTimer, Clock } from "@bulrush/base";

export interface ScanTimes {
  /** Quiet time after a hint before the scan. */
  readonly debounceMs: number;
  /** Between scans without any hint. */
  readonly rescanIntervalMs: number;
}

/** A burst of hints delays a scan at most this many times the debounce time. */
const MAX_DEBOUNCE_FACTOR = 10;

/**
 * Runs scans one at a time: soon after hints, when a scan asks for another look, and regularly.
 *
 * Invariant: while a scan runs no timer waits; otherwise, once started and until stopped, exactly one does.
 */
export class ScanSchedule {
  readonly #clock: Clock;
  readonly #times: ScanTimes;
  readonly #scan: () => Promise<number | undefined>;
  #first: Promise<void> | undefined;
  #running: Promise<void> | undefined;
  #cancel: CancelTimer | undefined;
  /** The next scan without hints. */
  #plannedMs = Infinity;
  /** The first hint that no scan has begun after, and the scan that the hints ask for. */
  #firstHintMs: number | undefined;
  #hintedMs = Infinity;
  #isStopped = false;

  /** `scan` gives the time until another look is needed, or undefined. It must not reject. */
  constructor(clock: Clock, times: ScanTimes, scan: () => Promise<number | undefined>) {
    this.#clock = clock;
    this.#times = times;
    this.#scan = scan;
  }

  /** Begins, once. Resolves when the first scan is over. */
  start(): Promise<void> {
    this.#first ??= this.#run();
    return this.#first;
  }

  /** Something may have changed. */
  hint(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#firstHintMs ??= nowMs;
    const latestMs = this.#firstHintMs + this.#times.debounceMs * MAX_DEBOUNCE_FACTOR;
    this.#hintedMs = Math.min(latestMs, nowMs + this.#times.debounceMs);
    if (this.#running === undefined) this.#arm();
  }

  /** Resolves when nothing runs any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#running;
  }

  #arm(): void {
    this.#cancel?.();
    if (this.#isStopped) return;
    const dueMs = Math.min(this.#plannedMs, this.#hintedMs);
    this.#cancel = this.#clock.after(Math.max(0, dueMs - this.#clock.monotonicMs()), () => void this.#run());
  }

  async #run(): Promise<void> {
    this.#cancel?.();
    this.#hintedMs = Infinity;
    this.#firstHintMs = undefined;
    // A hint during the scan may be about a file that it has passed already, so it asks for another one.
    const scan = this.#scan();
    this.#running = scan.then(() => undefined);
    const againMs = await scan;
    this.#running = undefined;
    this.#plannedMs = this.#clock.monotonicMs() + Math.min(againMs ?? Infinity, this.#times.rescanIntervalMs);
    this.#arm();
  }
}
