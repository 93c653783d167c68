import type { CancelTimer, Clock } from "@bulrush/base";
import type { DataplaneHandle, DataplaneStatus } from "@bulrush/dataplane";
import type { HealthAggregator, HealthReporter } from "@bulrush/service";

const REPORT_INTERVAL_MS = 10_000;
const GRAPH_TIMEOUT_MS = 30_000;
/** Until the settings say otherwise: DataplaneWatchdogTimeout comes as an override. */
const WATCHDOG_MS = 90_000;

export interface AgentHealthOptions {
  readonly health: HealthAggregator;
  readonly clock: Clock;
  /** How the graph stands, read at each report. */
  readonly graph: () => { readonly ready: boolean; readonly detail: string };
}

/**
 * Reports for the graph and the dataplane, every 10 seconds and when something changes. A sign of life of the dataplane
 * is an empty send that it has taken: while one is outstanding nothing is reported, so that the report grows old.
 *
 * Invariant: at most one sign of life is outstanding.
 */
export class AgentHealth {
  readonly #options: AgentHealthOptions;
  readonly #graph: HealthReporter;
  readonly #dataplane: HealthReporter;
  #handle: DataplaneHandle | undefined;
  #status: DataplaneStatus | undefined;
  #cancel: CancelTimer;
  #asking = false;

  constructor(options: AgentHealthOptions) {
    this.#options = options;
    const { health } = options;
    this.#graph = health.register("CalculationGraph", { timeoutMs: GRAPH_TIMEOUT_MS });
    this.#dataplane = health.register("InternalDataplaneMainLoop", { timeoutMs: WATCHDOG_MS });
    this.#cancel = () => {};
    this.#tick();
  }

  /** From now on the dataplane is asked for signs of life. */
  watch(handle: DataplaneHandle): void {
    this.#handle = handle;
  }

  onDataplaneStatus(status: DataplaneStatus): void {
    this.#status = status;
    this.#reportDataplane();
  }

  onGraphChange(): void {
    this.#graph.report({ live: true, ...this.#options.graph() });
  }

  stop(): void {
    this.#cancel();
    this.#graph.remove();
    this.#dataplane.remove();
  }

  #tick(): void {
    this.onGraphChange();
    this.#askDataplane();
    this.#cancel = this.#options.clock.after(REPORT_INTERVAL_MS, () => this.#tick());
  }

  #askDataplane(): void {
    if (this.#handle === undefined) {
      this.#reportDataplane();
      return;
    }
    if (this.#asking) return;
    this.#asking = true;
    void this.#handle.send([]).then(
      () => {
        this.#asking = false;
        this.#reportDataplane();
      },
      // It never takes anything again: the report grows old.
      () => {},
    );
  }

  #reportDataplane(): void {
    const ready = this.#status?.ready ?? false;
    this.#dataplane.report({
      live: true,
      ready,
      detail: this.#status?.reason ?? "not started: waiting for the datastore",
    });
  }
}
