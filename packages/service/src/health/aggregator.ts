import { assert, type Clock, compareStrings } from "@bulrush/base";
import { type HealthRow, renderHealthTable } from "./table.ts";

/** What a reporter answers for. */
export interface ReporterOptions {
  /** Its word counts for /liveness. Default true. */
  readonly live?: boolean;
  /** Its word counts for /readiness. Default true. */
  readonly ready?: boolean;
  /** A report older than this fails everything that the reporter answers for. 0 (default): reports never age. */
  readonly timeoutMs?: number;
}

/** What one part of the process says of itself. It holds until the next one, or until it is too old. */
export interface HealthReport {
  /** Ignored from a reporter that does not answer for it; likewise `ready`. */
  readonly live: boolean;
  readonly ready: boolean;
  /** Why, in words: "waiting for the first snapshot from typha-2 (10.0.0.7:5473)". */
  readonly detail?: string;
}

/** The handle of one part, which owns it: nobody else reports under its name. */
export interface HealthReporter {
  readonly name: string;
  /** Replaces the last report and starts its age anew. After `remove`, does nothing. */
  report(report: HealthReport): void;
  /** Takes the reporter out. */
  remove(): void;
}

/** What the health server answers from. */
export interface HealthSummary {
  readonly live: boolean;
  readonly ready: boolean;
  /** The table of all reporters by name, "" when there are none. */
  readonly text: string;
}

interface Entry {
  readonly name: string;
  readonly answersLive: boolean;
  readonly answersReady: boolean;
  /** Its own, when nothing overrides it. */
  readonly ownTimeoutMs: number;
  timeoutMs: number;
  reportedAtMs: number;
  report: HealthReport;
}

/**
 * Collects the reports of a process's parts. A reporter that has not reported yet is live but not ready. Live when all
 * that answer for liveness are; ready likewise; with no reporter at all, both.
 *
 * Invariant: `#entries` holds exactly the reporters that were registered and not removed.
 */
export class HealthAggregator {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  #overridesMs: ReadonlyMap<string, number> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A name may be taken once; a second reporter of that name is a bug. */
  register(name: string, options: ReporterOptions = {}): HealthReporter {
    assert(!this.#entries.has(name), () => `Health reporter ${name} is registered twice`);
    const entry: Entry = {
      name,
      answersLive: options.live ?? true,
      answersReady: options.ready ?? true,
      ownTimeoutMs: options.timeoutMs ?? 0,
      timeoutMs: this.#overridesMs.get(name) ?? options.timeoutMs ?? 0,
      reportedAtMs: this.#clock.monotonicMs(),
      report: { live: true, ready: false, detail: "no report yet" },
    };
    this.#entries.set(name, entry);
    return {
      name,
      report: (report) => {
        entry.report = report;
        entry.reportedAtMs = this.#clock.monotonicMs();
      },
      remove: () => {
        if (this.#entries.get(name) === entry) this.#entries.delete(name);
      },
    };
  }

  /** The time-outs of these reporters, now and when they register later, in place of all that were given before. */
  overrideTimeouts(timeoutsMs: ReadonlyMap<string, number>): void {
    this.#overridesMs = timeoutsMs;
    for (const entry of this.#entries.values()) entry.timeoutMs = timeoutsMs.get(entry.name) ?? entry.ownTimeoutMs;
  }

  summary(): HealthSummary {
    const rows = this.rows();
    return {
      live: rows.every((row) => row.live !== false),
      ready: rows.every((row) => row.ready !== false),
      text: renderHealthTable(rows),
    };
  }

  /** The reporters as they stand, by name. */
  rows(): readonly HealthRow[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#entries.values()]
      .sort((a, b) => compareStrings(a.name, b.name))
      .map((entry) => {
        const ageMs = nowMs - entry.reportedAtMs;
        const overdue = entry.timeoutMs > 0 && ageMs > entry.timeoutMs;
        return {
          name: entry.name,
          timeoutMs: entry.timeoutMs,
          live: entry.answersLive ? entry.report.live && !overdue : undefined,
          ready: entry.answersReady ? entry.report.ready && !overdue : undefined,
          overdueMs: overdue ? ageMs : undefined,
          detail: entry.report.detail ?? "",
        };
      });
  }
}
