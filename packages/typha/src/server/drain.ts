import type { Clock } from "@bulrush/base";
import type { Logger } from "@bulrush/service";
import type { ClientSession } from "./client-session.ts";
import type { SyncServerSettings } from "./settings.ts";

export interface DrainOptions {
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly settings: SyncServerSettings;
  readonly logger: Logger;
  /** The sessions that are left, of any state. */
  readonly sessions: () => readonly ClientSession[];
}

/**
 * Time between two goodbyes: even over 95 % of the budget, and never more than the cap. Worked out once, so that a
 * drain's end can be told at its start.
 */
export function drainGapMs(connections: number, budgetMs: number, maxGapMs: number): number {
  return Math.min((0.95 * budgetMs) / Math.max(1, connections), maxGapMs);
}

/**
 * The paced end of all streams: every gap (0.95 to 1.05 of it, at random) one client that is picked at random gets its
 * goodbye, so that a fleet does not arrive elsewhere at once.
 */
export class Drain {
  /** Resolves when no session is left. */
  readonly done: Promise<void>;
  readonly #options: DrainOptions;
  readonly #gapMs: number;
  readonly #resolve: () => void;

  constructor(options: DrainOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.done = promise;
    this.#resolve = resolve;
    const { settings, logger } = options;
    const sessions = options.sessions();
    this.#gapMs = drainGapMs(sessions.length, settings.shutdownTimeoutMs, settings.shutdownMaxGapMs);
    logger.info("Draining", { connections: sessions.length, gapMs: Math.round(this.#gapMs) });
    if (sessions.length === 0) resolve();
    else this.#scheduleNext();
  }

  /** The last session is gone. */
  onEmpty(): void {
    this.#resolve();
  }

  #scheduleNext(): void {
    const { clock, random } = this.#options;
    clock.after(this.#gapMs * (0.95 + 0.1 * random()), () => {
      const open = this.#options.sessions().filter(({ state }) => state !== "closing" && state !== "closed");
      open[Math.floor(random() * open.length)]?.goodbye("draining", "The server is shutting down");
      if (open.length > 1) this.#scheduleNext();
    });
  }
}
