/** Cancels a timer. Calling it twice, or after the timer fired, does nothing. */
export type CancelTimer = () => void;

/**
 * Time as an argument. Everything that waits or measures takes a Clock, so that tests move time by hand.
 * `nowMs` is the wall clock (Unix milliseconds); `monotonicMs` never goes backwards and has no fixed origin.
 */
export interface Clock {
  /** May jump, back too: for what people read. */
  nowMs(): number;
  /** For ages and time-outs. */
  monotonicMs(): number;
  /** Calls `callback` once, `delayMs` from now. Never synchronously. */
  after(delayMs: number, callback: () => void): CancelTimer;
}

/** The longest that the runtime waits, some 25 days: what is longer it takes for 1 ms. */
const MAX_TIMER_MS: number = 2 ** 31 - 1;

/** The real clock. Its timers do not keep a process alive unless `keepAlive` is set. */
export function systemClock(options: { keepAlive?: boolean } = {}): Clock {
  const after: Clock["after"] = (delayMs, callback) => {
    if (delayMs > MAX_TIMER_MS) {
      let cancel = after(MAX_TIMER_MS, () => {
        cancel = after(delayMs - MAX_TIMER_MS, callback);
      });
      return () => cancel();
    }
    const timer = setTimeout(callback, delayMs);
    if (options.keepAlive !== true) timer.unref();
    return () => clearTimeout(timer);
  };
  return { nowMs: () => Date.now(), monotonicMs: () => performance.now(), after };
}

/** Resolves after `delayMs`, or rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
