import { type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { FromDataplane } from "@bulrush/dataplane";
import type { StatusStore } from "@bulrush/datastore";
import type { Logger } from "@bulrush/service";
import type { FelixConfig } from "../config/felix-config.ts";
import { StatusKeys } from "./status-keys.ts";

export type StatusSettings = Pick<
  FelixConfig,
  | "EndpointReportingDelaySecs"
  | "EndpointReportingEnabled"
  | "OpenstackRegion"
  | "ReportingIntervalSecs"
  | "ReportingTTLSecs"
>;

export interface StatusReporterOptions {
  readonly hostname: string;
  readonly clock: Clock;
  /** Numbers in [0, 1), for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly settings: StatusSettings;
  /** Undefined: the datastore has no place for statuses. Rejects where it cannot be opened; it is tried again. */
  readonly open: () => Promise<StatusStore | undefined>;
}

const FIRST_REPORT_MS = 10_000;
const WRITE_LIMIT_MS = 2000;
/** Between two comparisons with what is stored, give or take a tenth. */
const RESYNC_TICKS = 180;

/**
 * Says in the datastore how this agent and its endpoints are.
 *
 * ```
 *  process: 10 s after the start, then every ReportingIntervalSecs: status (with ReportingTTLSecs), last_reported_status
 *  endpoints, from DataplaneInSync on: one write each EndpointReportingDelaySecs; every 180 of them what is stored is
 *  compared: keys of endpoints that are no more are deleted
 * ```
 *
 * Invariant: `#wanted` is what the dataplane says of each endpoint, by key as without a region; `#dirty` are those of which
 * the store may say something else.
 */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  readonly #startMs: number;
  #settings: StatusSettings;
  #keys: StatusKeys;
  #store: Promise<StatusStore | undefined> | undefined;
  readonly #wanted = new Map<string, { readonly key: (keys: StatusKeys) => string; readonly status: string }>();
  readonly #dirty = new Set<string>();
  #isInSync = false;
  #isFirst = true;
  #ticksLeft = 0;
  #lastFailure = "";
  #cancelProcess: CancelTimer | undefined;
  #cancelEndpoints: CancelTimer | undefined;
  #stopped = false;

  constructor(options: StatusReporterOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#keys = new StatusKeys(options.hostname, options.settings.OpenstackRegion);
    this.#startMs = options.clock.monotonicMs();
    this.#armProcess(FIRST_REPORT_MS);
  }

  /** Takes up other settings. */
  update(settings: StatusSettings): void {
    const before = this.#settings;
    this.#settings = settings;
    if (settings.OpenstackRegion !== before.OpenstackRegion) {
      this.#keys = new StatusKeys(this.#options.hostname, settings.OpenstackRegion);
      this.#ticksLeft = 0;
    }
    if (settings.ReportingIntervalSecs !== before.ReportingIntervalSecs && !this.#isFirst)
      this.#armProcess(settings.ReportingIntervalSecs * 1000);
    if (settings.EndpointReportingEnabled && !before.EndpointReportingEnabled) this.#ticksLeft = 0;
    this.#armEndpoints();
  }

  onDataplane(message: FromDataplane): void {
    switch (message.msg) {
      case "DataplaneInSync":
        this.#isInSync = true;
        this.#armEndpoints();
        return;
      case "WorkloadEndpointStatusUpdate":
      case "WorkloadEndpointStatusRemove":
        this.#want((keys) => keys.workload(message.id), "status" in message ? message.status : undefined);
        return;
      case "HostEndpointStatusUpdate":
      case "HostEndpointStatusRemove":
        this.#want((keys) => keys.hostEndpoint(message.id), "status" in message ? message.status : undefined);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelProcess?.();
    this.#cancelEndpoints?.();
    const store = await this.#store?.catch(() => undefined);
    await store?.close();
  }

  #want(key: (keys: StatusKeys) => string, status: string | undefined): void {
    const id = key(NO_REGION);
    if (status === undefined) this.#wanted.delete(id);
    else this.#wanted.set(id, { key, status });
    this.#dirty.add(id);
  }

  #armProcess(delayMs: number): void {
    this.#cancelProcess?.();
    this.#cancelProcess = undefined;
    if (this.#stopped || delayMs <= 0) return;
    this.#cancelProcess = this.#options.clock.after(delayMs, () => {
      void this.#reportProcess().then(() => this.#armProcess(this.#settings.ReportingIntervalSecs * 1000));
    });
  }

  async #reportProcess(): Promise<void> {
    const { clock } = this.#options;
    if (this.#settings.ReportingIntervalSecs <= 0) return;
    const value = JSON.stringify({
      time: new Date(clock.nowMs()).toISOString(),
      uptime: (clock.monotonicMs() - this.#startMs) / 1000,
      first_update: this.#isFirst,
    });
    const done = await this.#withStore("Report the status of this agent", async (store, signal) => {
      await store.put(this.#keys.status, value, signal, this.#settings.ReportingTTLSecs);
      await store.put(this.#keys.lastStatus, value, signal);
    });
    if (done) this.#isFirst = false;
  }

  #armEndpoints(): void {
    const { EndpointReportingDelaySecs, EndpointReportingEnabled } = this.#settings;
    if (!EndpointReportingEnabled || !this.#isInSync || this.#stopped || this.#cancelEndpoints !== undefined) return;
    this.#cancelEndpoints = this.#options.clock.after(Math.max(EndpointReportingDelaySecs, 0.01) * 1000, () => {
      void this.#tick().then(() => {
        this.#cancelEndpoints = undefined;
        this.#armEndpoints();
      });
    });
  }

  async #tick(): Promise<void> {
    if (this.#ticksLeft <= 0) {
      const compared = await this.#withStore("Compare the statuses of endpoints", (store, signal) =>
        this.#compare(store, signal),
      );
      if (compared) this.#ticksLeft = RESYNC_TICKS * (0.9 + 0.2 * this.#options.random());
      return;
    }
    this.#ticksLeft--;
    const [id] = this.#dirty;
    if (id === undefined) return;
    const wanted = this.#wanted.get(id);
    this.#dirty.delete(id);
    const key = wanted?.key(this.#keys) ?? this.#keys.host + id.slice(NO_REGION.host.length);
    const done = await this.#withStore("Report the status of an endpoint", (store, signal) =>
      wanted === undefined ? store.delete(key, signal) : store.put(key, valueOf(wanted.status), signal),
    );
    if (!done) this.#dirty.add(id);
  }

  /** Only keys of this host are looked at. */
  async #compare(store: StatusStore, signal: AbortSignal): Promise<void> {
    const stored = await store.list(this.#keys.host, signal);
    const keys = new Set<string>();
    for (const [id, { key, status }] of this.#wanted) {
      const name = key(this.#keys);
      keys.add(name);
      if (stored.get(name) === valueOf(status)) this.#dirty.delete(id);
      else this.#dirty.add(id);
    }
    for (const key of stored.keys())
      if (this.#keys.isEndpoint(key) && !keys.has(key))
        this.#dirty.add(NO_REGION.host + key.slice(this.#keys.host.length));
  }

  /** False: it could not be done, which is logged once a reason. */
  async #withStore(op: string, work: (store: StatusStore, signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const { clock, logger } = this.#options;
    if (this.#stopped) return false;
    const limit = new AbortController();
    const cancel = clock.after(WRITE_LIMIT_MS, () => limit.abort(new Error(`not done in ${WRITE_LIMIT_MS} ms`)));
    try {
      this.#store ??= this.#options.open();
      const store = await this.#store;
      if (store === undefined) {
        this.#stopped = true;
        logger.debug("The datastore has no place for statuses: none are reported");
        return false;
      }
      await work(store, limit.signal);
      this.#lastFailure = "";
      return true;
    } catch (error) {
      const failure = `${op}: ${messageOf(error)}`;
      if (failure !== this.#lastFailure && !this.#stopped) logger.warn(op, { error });
      this.#lastFailure = failure;
      // One that did not open is opened again.
      if ((await this.#store?.catch(() => undefined)) === undefined) this.#store = undefined;
      return false;
    } finally {
      cancel();
    }
  }
}

function valueOf(status: string): string {
  return JSON.stringify({ status });
}

/** Names endpoints whatever the region of the moment is. */
const NO_REGION: StatusKeys = new StatusKeys("", "");
