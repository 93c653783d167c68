import { Backoff, type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { ToDataplane } from "@bulrush/proto";
import type { DeviceWork } from "../device/device-work.ts";
import type { DriftReport } from "../drift/drift-report.ts";
import { notReady } from "../drift/inspect-kernel.ts";
import type { DataplaneEvents, InspectableDataplane } from "../handle.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { readableMessage } from "../input/readable-message.ts";
import { Interfaces } from "../manager/interfaces.ts";
import type { RoutesResult } from "../route/routes-manager.ts";
import type { DataplaneStatus } from "../status.ts";
import type { HostState } from "./host-state.ts";
import { startRefreshTimer } from "./refresh-timer.ts";
import { RecentFailures } from "./recent-failures.ts";
import type { RulesetProgrammer } from "./ruleset-programmer.ts";
import { inspectRunning } from "./inspect-running.ts";
import type { Item, Running } from "./running.ts";
import { startRunning } from "./start-running.ts";
import { statusCounters } from "./status-counters.ts";
import { Throttle } from "./throttle.ts";

const RETRY = { initialMs: 100, maxMs: 10_000 } as const;
/** A status is sent at least this often, as a sign of life. */
const HEARTBEAT_MS = 10_000;

/** All that the loop touches: with fakes it is a pure function of what it is sent. */
export interface DataplaneOptions {
  /** As in `DataplaneWorkerOptions`. */
  readonly settings: ReadonlyMap<string, string>;
  /** Owned by the caller, who closes it after `stop`. */
  readonly kernel: Kernel;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly events: DataplaneEvents;
}

/**
 * Makes a dataplane that runs in this thread. Nothing is read, written or listened to before the first message.
 *
 *     send, mark ──> queue ──drain──> managers ──dirty?──> gates: InSync message, interfaces listed
 *                                                            │ both
 *                      ┌─────────────────────────────────────┘
 *                      v
 *     throttle ──> deferred work ──> peering addresses; ───> nf_tables batch ──> routes, ──> sysctls ──> statuses ──> onApplied
 *        ^                           addresses released:         │   │           neighbours      │
 *        │                           route and flows go          │   │               │           │
 *        │                               │ failures              │   │               │ failures  │ failures
 *        └────── retry, 100 ms to 10 s ──┴───────────────────────│───┴───────────────┴───────────┘
 *                                                                v 10 tries fail
 *                                                            onFatal (kernel state stays)
 *
 * The host starts to forward packets after the first nf_tables batch. One pass runs at a time; what arrives meanwhile
 * waits in the queue. `stop` leaves the kernel as it is.
 */
export function createDataplane(options: DataplaneOptions): InspectableDataplane {
  return new DataplaneLoop(options);
}

class DataplaneLoop implements InspectableDataplane {
  readonly #options: DataplaneOptions;
  readonly #clock: Clock;
  readonly #interfaces = new Interfaces();
  readonly #throttle: Throttle;
  readonly #retry: Backoff;
  readonly #timers = new Map<string, CancelTimer>();
  readonly #counters = { messages: 0, applies: 0, applyFailures: 0, routeWrites: 0, lastApplyMs: 0, firstApplyMs: 0 };
  readonly #drift = { route: 0, neighbour: 0, device: 0, sysctl: 0 };
  readonly #startMs: number;
  readonly #onWarning = (message: string): void => this.#options.events.onLog?.("warn", message, {});
  readonly #abort = new AbortController();
  #queue: Item[] = [];
  #running: Running | undefined;
  #datastoreInSync = false;
  #interfacesInSync = false;
  #dirty = false;
  #failed: string | undefined;
  readonly #failures = new RecentFailures();
  readonly #fileFailures = new RecentFailures();
  #mark: number | undefined;
  #passScheduled = false;
  #passDone: Promise<void> = Promise.resolve();
  #passRuns = false;
  #wakeAgain = false;
  #stopped = false;
  #lastStatus = "";

  constructor(options: DataplaneOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#startMs = options.clock.monotonicMs();
    this.#throttle = new Throttle(this.#startMs);
    this.#retry = new Backoff(RETRY, options.random);
    const cancel = startRefreshTimer(
      this.#clock,
      () => 0,
      HEARTBEAT_MS,
      () => this.#tellStatus(true),
    );
    this.#timers.set("heartbeat", cancel);
  }

  send(messages: readonly ToDataplane[]): Promise<void> {
    return new Promise((taken) => {
      this.#queue.push({ kind: "messages", messages, taken });
      this.#wake();
    });
  }

  mark(sequence: number): void {
    this.#queue.push({ kind: "mark", sequence });
    this.#wake();
  }

  resync(): void {
    this.#running?.programmer.queueRefresh();
    this.#running?.state.routes.queueResync();
    for (const device of this.#running?.state.devices ?? []) device.queueResync();
    this.#running?.state.peerAddresses.queueResync();
    this.#running?.state.hostSysctls.queueResync();
    this.#running?.state.sysctls.queueResync();
    this.#setDirty();
  }

  inspect(): Promise<DriftReport> {
    return new Promise((report) => {
      if (this.#stopped) report(this.#inspect());
      else this.#queue.push({ kind: "inspect", report });
      this.#wake();
    });
  }

  async stop(): Promise<void> {
    await this.#shutDown();
    await this.#passDone;
  }

  async #shutDown(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#abort.abort();
    for (const cancel of this.#timers.values()) cancel();
    const rest = this.#queue;
    this.#queue = [];
    for (const item of rest) this.#abandon(item);
    for (const device of this.#running?.state.devices ?? []) device.stop?.();
    await this.#running?.monitor.stop();
    await this.#running?.drift.stop();
    await this.#running?.flows.stop();
    this.#tellStatus(false);
  }

  /** Nobody must wait for a loop that has stopped. */
  #abandon(item: Item): void {
    if (item.kind === "messages") item.taken();
    else if (item.kind === "inspect") item.report(this.#inspect());
  }

  #setDirty(): void {
    this.#dirty = true;
    this.#wake();
  }

  #wake(): void {
    // What comes in the middle of a pass may have missed its turn in it.
    if (this.#passRuns) this.#wakeAgain = true;
    if (this.#passScheduled || this.#passRuns || this.#stopped) return;
    this.#passScheduled = true;
    setImmediate(() => {
      this.#passScheduled = false;
      this.#passDone = this.#pass();
    });
  }

  #wakeIn(name: string, delayMs: number): void {
    this.#timers.get(name)?.();
    this.#timers.set(
      name,
      this.#clock.after(delayMs, () => this.#setDirty()),
    );
  }

  async #pass(): Promise<void> {
    if (this.#stopped) return;
    this.#passRuns = true;
    try {
      this.#drain();
      if (this.#dirty && this.#datastoreInSync && this.#interfacesInSync && this.#running !== undefined) {
        const waitMs = this.#throttle.take(this.#clock.monotonicMs());
        if (waitMs > 0) this.#wakeIn("throttle", waitMs);
        else await this.#apply(this.#running);
      }
      this.#tellApplied();
      this.#tellStatus(false);
      this.#answerInspections();
    } catch (error) {
      // Nothing is dead that was told to stop.
      if (!this.#stopped) await this.#die(error instanceof Error ? error : new Error(messageOf(error)));
    } finally {
      this.#passRuns = false;
    }
    if (!this.#wakeAgain && this.#queue.length === 0) return;
    this.#wakeAgain = false;
    this.#wake();
  }

  #drain(): void {
    const items = this.#queue.filter(({ kind }) => kind !== "inspect");
    this.#queue = this.#queue.filter(({ kind }) => kind === "inspect");
    // The sender may go on: what it sends now waits for the next pass.
    for (const item of items) if (item.kind === "messages") item.taken();
    for (const item of items) {
      if (item.kind === "mark") this.#mark = item.sequence;
      else if (item.kind === "messages") for (const message of item.messages) this.#onMessage(message);
    }
  }

  /** After the pass, so that what came before the question is in the kernel if it can be. */
  #answerInspections(): void {
    const asked = this.#queue.filter((item) => item.kind === "inspect");
    if (asked.length === 0) return;
    this.#queue = this.#queue.filter(({ kind }) => kind !== "inspect");
    const report = this.#inspect();
    for (const item of asked) item.report(report);
  }

  #inspect(): DriftReport {
    const repairs = this.#running?.drift.repairs() ?? [];
    if (this.#running === undefined || this.#counters.applies === 0 || this.#stopped) return notReady(repairs);
    return inspectRunning(this.#running, this.#options.kernel, this.#clock.monotonicMs(), this.#dirty);
  }

  #onMessage(received: ToDataplane): void {
    this.#counters.messages++;
    const message = readableMessage(received, (of, what) =>
      this.#options.events.onLog?.("error", "Leave out what cannot be read", { of, what: what.slice(0, 10) }),
    );
    this.#running ??= this.#start(message.msg === "ConfigUpdate" ? message.config : new Map());
    if (message.msg === "InSync") this.#datastoreInSync = true;
    this.#running.state.onUpdate(this.#running.support.supported(message));
    this.#dirty = true;
  }

  #start(config: ReadonlyMap<string, string>): Running {
    const running = startRunning(config, {
      options: this.#options,
      interfaces: this.#interfaces,
      signal: this.#abort.signal,
      setDirty: () => this.#setDirty(),
      wakeIn: (name, delayMs) => this.#wakeIn(name, delayMs),
      keepTimer: (name, cancel) => this.#timers.set(name, cancel),
      onFatal: (error) => void this.#die(error),
    });
    this.#interfacesInSync = true;
    return running;
  }

  async #apply({ drift, leftovers, programmer, recheck, state }: Running): Promise<void> {
    const { events, kernel } = this.#options;
    const startMs = this.#clock.monotonicMs();
    this.#dirty = false;
    const failures: string[] = [];
    state.completeDeferredWork();
    this.#devicesStep([state.peerAddresses], "peer", programmer, failures);
    this.#routesStep(state.routes.release(kernel.routes, kernel.conntrack, this.#clock.monotonicMs()), failures);
    await programmer.apply();
    while (state.ruleset.hasLeftovers) {
      state.completeDeferredWork();
      await programmer.apply();
    }
    // Not before the rules: a host that forwards without them lets everything through.
    state.hostSysctls.keepAnnouncedRoutes(kernel.sysctls, kernel.routes, this.#onWarning);
    this.#sysctlsStep(state.hostSysctls, failures);
    this.#routesStep(state.routes.apply(kernel.routes, this.#clock.monotonicMs()), failures);
    // Once routes say where flows lead.
    failures.push(...recheck.run());
    this.#devicesStep(state.devices, "device", programmer, failures);
    failures.push(...state.mtuFile.apply(kernel.files));
    this.#sysctlsStep(state.sysctls, failures);
    drift.settle();
    leftovers.run();
    this.#counters.applies++;
    this.#counters.lastApplyMs = this.#clock.monotonicMs() - startMs;
    for (const message of state.messages()) events.onMessage?.(message);
    this.#settle(failures);
    this.#statusFilesStep(state);
  }

  /** The books of one half of a round of routes. */
  #routesStep(result: RoutesResult, failures: string[]): void {
    this.#counters.routeWrites += result.writes;
    this.#drift.route += result.routeDrift;
    this.#drift.neighbour += result.neighbourDrift;
    this.#running?.drift.repaired(result.drift);
    failures.push(...result.failures);
    for (const warning of result.warnings) this.#options.events.onLog?.("warn", warning, {});
    if (result.againAtMs !== undefined)
      this.#wakeIn("grace", Math.max(0, result.againAtMs - this.#clock.monotonicMs()));
  }

  #devicesStep(devices: readonly DeviceWork[], timer: string, programmer: RulesetProgrammer, failures: string[]): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [i, device] of devices.entries()) {
      const result = device.apply(this.#options.kernel.routes, nowMs, this.#options.kernel, (transaction) =>
        programmer.runAside(transaction),
      );
      this.#drift.device += result.drift;
      this.#running?.drift.repaired(result.repaired ?? []);
      failures.push(...result.failures);
      for (const warning of result.warnings ?? []) this.#options.events.onLog?.("warn", warning, {});
      if (result.againAtMs !== undefined) this.#wakeIn(`${timer} ${i}`, Math.max(0, result.againAtMs - nowMs));
    }
  }

  /** They have a time of their own for the next try, and hold nothing else back. */
  #statusFilesStep({ routes, statuses, statusFiles }: HostState): void {
    const nowMs = this.#clock.monotonicMs();
    const ready = [...statuses.up()].filter(({ endpoint }) => routes.isTried(endpoint.name));
    const result = statusFiles?.apply(this.#options.kernel.files, ready, nowMs);
    const failures = result?.failures ?? [];
    if (failures.length > 0 && this.#fileFailures.hasNews(failures, nowMs))
      for (const failure of failures.slice(0, 10)) this.#options.events.onLog?.("warn", failure, {});
    if (result?.againAtMs !== undefined) this.#wakeIn("status files", Math.max(0, result.againAtMs - nowMs));
  }

  #sysctlsStep(part: HostState["hostSysctls" | "sysctls"], failures: string[]): void {
    const result = part.apply(this.#options.kernel.sysctls, this.#onWarning);
    this.#drift.sysctl += result.drift.length;
    this.#running?.drift.repaired(result.drift);
    failures.push(...result.failures);
  }

  /**
   * The rules and sets are in the kernel here. What failed besides is told and tried again, and holds back nobody who
   * waits for policy: it may fail for good.
   */
  #settle(failures: readonly string[]): void {
    const { events } = this.#options;
    const nowMs = this.#clock.monotonicMs();
    this.#failed = failures[0];
    if (failures.length > 0) {
      this.#counters.applyFailures++;
      events.onLog?.("warn", "Apply", { failures: failures.slice(0, 10), more: Math.max(0, failures.length - 10) });
    }
    // What fails for good has long pauses by now; another does not wait for its turn.
    if (this.#failures.hasNews(failures, nowMs)) this.#retry.reset();
    if (failures.length > 0) this.#wakeIn("retry", this.#retry.nextMs());
    if (this.#counters.applies > 1) return;
    this.#counters.firstApplyMs = nowMs - this.#startMs;
    events.onMessage?.({ msg: "DataplaneInSync" });
  }

  /**
   * A mark counts as applied when all rules and sets of what came before it are in the kernel. Routes and settings that
   * fail for reasons of their own (and are tried again) do not hold it back: policy is what senders wait for.
   */
  #tellApplied(): void {
    if (this.#mark === undefined || this.#dirty || this.#counters.applies === 0) return;
    const sequence = this.#mark;
    this.#mark = undefined;
    this.#options.events.onApplied?.(sequence);
  }

  /** Stops for good and says so. Not to be awaited by a pass's own stop: hence no wait for the pass. */
  async #die(error: Error): Promise<void> {
    if (this.#stopped) return;
    await this.#shutDown();
    this.#options.events.onFatal?.(error);
  }

  #tellStatus(always: boolean): void {
    const status = this.#status();
    const text = JSON.stringify(status);
    if (!always && text === this.#lastStatus) return;
    this.#lastStatus = text;
    this.#options.events.onStatus?.(status);
  }

  #status(): DataplaneStatus {
    return {
      ...this.#phase(),
      ready: this.#counters.applies > 0 && !this.#stopped,
      counters: statusCounters(this.#counters, this.#drift, this.#running),
    };
  }

  #phase(): Pick<DataplaneStatus, "phase" | "reason"> {
    if (this.#stopped) return { phase: "stopped", reason: "The dataplane has stopped; the kernel keeps its state" };
    if (!this.#datastoreInSync)
      return { phase: "waiting-datastore", reason: "Waiting for the datastore to be in sync" };
    if (!this.#interfacesInSync) return { phase: "waiting-interfaces", reason: "Waiting for the list of interfaces" };
    if (this.#failed !== undefined) return { phase: "retrying", reason: this.#failed };
    if (this.#counters.applies === 0) return { phase: "programming", reason: "Writing the first state to the kernel" };
    return { phase: "in-sync", reason: "The kernel has all that is wanted" };
  }
}
