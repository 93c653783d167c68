import type { Clock } from "@bulrush/base";
import type { LogFields, Logger } from "@bulrush/service";

/** Lines of one message per minute; the rest is counted. */
const LINES_PER_MINUTE = 30;
const MINUTE_MS = 60_000;

/**
 * A log for what strangers can cause at will. Each message gets 30 lines a minute, so that a scanner or a fleet with a
 * wrong certificate fills no disk; the next line after that says how many were left out.
 */
export class LimitedLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #counts = new Map<string, { sinceMs: number; lines: number }>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** `message` must be one of a fixed set. */
  warn(message: string, fields: LogFields): void {
    const nowMs = this.#clock.monotonicMs();
    const count = this.#counts.get(message);
    if (count === undefined || nowMs - count.sinceMs >= MINUTE_MS) {
      const leftOut = count === undefined ? 0 : count.lines - LINES_PER_MINUTE;
      this.#counts.set(message, { sinceMs: nowMs, lines: 1 });
      this.#logger.warn(message, leftOut > 0 ? { ...fields, linesLeftOut: leftOut } : fields);
      return;
    }
    count.lines++;
    if (count.lines <= LINES_PER_MINUTE) this.#logger.warn(message, fields);
  }
}
