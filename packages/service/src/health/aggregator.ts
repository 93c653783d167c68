import type { Clock } from "@bulrush/base";

/** What a reporter answers for. */
export interface ReporterOptions {
  /** Its word counts for /liveness. Default true. */
  readonly live?: boolean;
  /** Its word counts for /readiness. Default true. */
  readonly ready?: boolean;
  /** A report older than this fails everything that the reporter answers for. 0 (default): reports never age. */
  readonly timeoutMs?: number;
}

export interface HealthReport {
  readonly live: boolean;
  readonly ready: boolean;
  /** Why, in words: "waiting for the first snapshot from typha-2 (10.0.0.7:5473)". */
  readonly detail?: string;
}

export interface HealthReporter {
  readonly name: string;
  /** Replaces the last report and starts its age anew. */
  report(report: HealthReport): void;
  /** Takes the reporter out. */
  remove(): void;
}

export interface HealthSummary {
  readonly live: boolean;
  readonly ready: boolean;
  /** The table of all reporters, "" when there are none. */
  readonly text: string;
}

/**
 * Collects the reports of a process's parts. A reporter that has not reported yet is live but not ready. Live when all
 * that answer for liveness are; ready likewise.
 */
export class HealthAggregator {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A name may be taken once; a second reporter of that name is a bug. */
  register(name: string, options: ReporterOptions = {}): HealthReporter {
    throw new Error(`Not yet ${name} ${String(options.live)}`);
  }

  /** Replaces the time-outs of these reporters, now and when they register later. */
  overrideTimeouts(timeoutsMs: ReadonlyMap<string, number>): void {
    throw new Error(`Not yet ${timeoutsMs.size}`);
  }

  summary(): HealthSummary {
    throw new Error(`Not yet ${this.#clock.nowMs()}`);
  }
}
