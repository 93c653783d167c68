import type { CancelTimer, Clock } from "@bulrush/base";

/** Share of a period by which it may be longer, so that hosts do not all read back at once. */
const JITTER = 0.1;

/** Calls back again and again, each time after the period and up to 10 % more. A period of 0 never calls. */
export function startRefreshTimer(
  clock: Clock,
  random: () => number,
  periodMs: number,
  callback: () => void,
): CancelTimer {
  if (periodMs <= 0) return () => undefined;
  let cancel: CancelTimer;
  const arm = (): void => {
    cancel = clock.after(periodMs * (1 + JITTER * random()), () => {
      callback();
      arm();
    });
  };
  arm();
  return () => cancel();
}
