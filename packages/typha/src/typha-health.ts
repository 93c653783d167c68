import type { CancelTimer, Clock } from "@bulrush/base";
import type { HealthAggregator, HealthReporter } from "@bulrush/service";
import { timeText } from "./pipeline/kind-words.ts";
import type { Pipeline } from "./pipeline/pipeline.ts";

export interface TyphaHealthOptions {
  readonly health: HealthAggregator;
  readonly clock: Clock;
  readonly pipelines: readonly Pipeline[];
  /** Without an answer from the datastore for this long, a cache is not ready; 0: never. */
  readonly staleAfterMs: number;
  /** Why there is no datastore, in words; undefined when there is one. */
  readonly datastoreProblem: () => string | undefined;
  /** Why nobody can connect, in words; undefined when all is well. */
  readonly serverProblem: () => string | undefined;
  /** What an operator should see to while all is well. */
  readonly serverNotices: () => readonly string[];
  /** How many clients are served. */
  readonly streams: () => number;
  /** Called with each report. */
  readonly onReport: () => void;
}

/** Health is reported this often, and is too old after twenty seconds: a blocked event loop is not alive. */
const REPORT_MS = 1000;
const TIMEOUT_MS = 20_000;

/** What a Typha says about itself to its probes: a reporter per cache (`felix-cache` and so on), and one for the sync server, in words. */
export class TyphaHealth {
  readonly #options: TyphaHealthOptions;
  readonly #server: HealthReporter;
  readonly #caches: ReadonlyMap<Pipeline, HealthReporter>;
  #cancelTimer: CancelTimer = () => {};
  #statuses = "";
  /** Since when there has been a problem with the datastore as a whole, whatever its words; undefined: there is none. */
  #datastoreSinceMs: number | undefined;

  constructor(options: TyphaHealthOptions) {
    this.#options = options;
    const { health, pipelines } = options;
    this.#server = health.register("SyncServer", { timeoutMs: TIMEOUT_MS });
    this.#caches = new Map(
      pipelines.map((pipeline) => [pipeline, health.register(`${pipeline.type}-cache`, { timeoutMs: TIMEOUT_MS })]),
    );
    for (const { cache } of pipelines) cache.onPublish(() => this.#onPublish());
  }

  /** Reports now, and every second from now on. */
  report(): void {
    const { clock, datastoreProblem, serverProblem, serverNotices, streams, onReport } = this.#options;
    this.#cancelTimer();
    this.#datastoreSinceMs = datastoreProblem() === undefined ? undefined : (this.#datastoreSinceMs ?? clock.nowMs());
    this.#statuses = this.#readStatuses();
    for (const [pipeline, reporter] of this.#caches) reporter.report({ live: true, ...this.#readiness(pipeline) });
    const problem = serverProblem();
    const detail = problem ?? [`${streams()} streams`, ...serverNotices()].join("; ");
    this.#server.report({ live: true, ready: problem === undefined, detail });
    onReport();
    this.#cancelTimer = clock.after(REPORT_MS, () => this.report());
  }

  /** Ends the reports and takes the reporters out. */
  close(): void {
    this.#cancelTimer();
    for (const reporter of [this.#server, ...this.#caches.values()]) reporter.remove();
  }

  /** A probe sees a change of status at once. */
  #onPublish(): void {
    if (this.#readStatuses() !== this.#statuses) this.report();
  }

  #readStatuses(): string {
    return this.#options.pipelines.map(({ status }) => status).join();
  }

  #readiness(pipeline: Pipeline): { readonly ready: boolean; readonly detail: string } {
    const { datastoreProblem, staleAfterMs } = this.#options;
    const problem = datastoreProblem();
    if (problem !== undefined) {
      const since = ` (since ${timeText(this.#datastoreSinceMs ?? 0)})`;
      return { ready: false, detail: [`${problem}${since}`, ...pipeline.words()].join("; ") };
    }
    const readiness = pipeline.readiness();
    const ageMs = pipeline.upstreamAgeMs();
    if (!readiness.ready || staleAfterMs <= 0 || ageMs <= staleAfterMs) return readiness;
    const silent = pipeline.kinds().filter(({ upstreamAgeMs }) => (upstreamAgeMs ?? ageMs) > staleAfterMs);
    const about = silent.map(({ kind }) => kind).join(", ");
    const stale = `stale: no answer from the datastore for ${Math.round(ageMs / 1000)} s about ${about}`;
    return { ready: false, detail: [stale, ...pipeline.words()].join("; ") };
  }
}
