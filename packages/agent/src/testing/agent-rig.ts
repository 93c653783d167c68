import { ManualClock } from "@bulrush/base";
import type { DataplaneCounters, DataplaneEvents, DataplaneHandle, DataplaneStatus } from "@bulrush/dataplane";
import { formatKey, type Key, type Update, type Value } from "@bulrush/model";
import type { ToDataplane } from "@bulrush/proto";
import {
  createMetrics,
  HealthAggregator,
  memoryLogger,
  type MemoryLogger,
  type Metrics,
  type ShutdownReason,
} from "@bulrush/service";
import { type Agent, type AgentOptions, createAgent } from "../agent.ts";
import { loadFelixConfig } from "../config/felix-config.ts";
import type { Held, SourceCallbacks } from "../source/source.ts";
import { StateStore } from "../state/state-store.ts";

export const update = (key: Key, value: Value | undefined): Update => ({
  key,
  path: formatKey(key),
  value,
  revision: "1",
  type: value === undefined ? "deleted" : "new",
});

export const readyFlag = (value = true): Update => update({ type: "ReadyFlag" }, value);
export const setting = (name: string, value: string | undefined): Update =>
  update({ type: "GlobalConfig", name }, value);

export const COUNTERS: DataplaneCounters = {
  messages: 0,
  applies: 0,
  applyFailures: 0,
  nftTransactions: 0,
  nftReads: 0,
  routeWrites: 0,
  drift: { chain: 0, set: 0, map: 0, route: 0, neighbour: 0, device: 0, sysctl: 0 },
  chains: { ip: 0, ip6: 0 },
  rules: { ip: 0, ip6: 0 },
  sets: { ip: 0, ip6: 0 },
  routes: { ip: 0, ip6: 0 },
  flowtableDevices: { present: 0, missing: 0 },
  lastApplyMs: 0,
  firstApplyMs: 0,
};

/** A dataplane that notes what it is told. */
class FakeDataplane {
  readonly sent: ToDataplane[] = [];
  readonly marks: number[] = [];
  /** Each start that was asked for, with the settings. */
  readonly starts: ReadonlyMap<string, string>[] = [];
  events: DataplaneEvents | undefined;
  /** Set: the next starts fail with it. */
  startError: Error | undefined;
  /** True: sends are never taken. */
  hangs = false;
  stopped = false;

  start(settings: ReadonlyMap<string, string>, events: DataplaneEvents): Promise<DataplaneHandle> {
    this.starts.push(settings);
    if (this.startError !== undefined) return Promise.reject(this.startError);
    this.events = events;
    return Promise.resolve({
      send: (messages) => {
        this.sent.push(...messages);
        return this.hangs ? new Promise(() => {}) : Promise.resolve();
      },
      mark: (sequence) => void this.marks.push(sequence),
      resync: () => {},
      stop: () => {
        this.stopped = true;
        return Promise.resolve();
      },
    });
  }

  status(phase: DataplaneStatus["phase"], reason: string, counters: Partial<DataplaneCounters> = {}): void {
    this.events?.onStatus?.({ phase, reason, ready: phase === "in-sync", counters: { ...COUNTERS, ...counters } });
  }
}

export interface AgentRig {
  readonly agent: Agent;
  readonly clock: ManualClock;
  readonly health: HealthAggregator;
  readonly metrics: Metrics;
  readonly logger: MemoryLogger;
  readonly dataplane: FakeDataplane;
  /** What the agent's source calls. */
  readonly source: SourceCallbacks;
  readonly acks: number[];
  readonly requests: ShutdownReason[];
  /** What the source says of itself. */
  report: { connected: boolean; detail: string };
  sourceStopped: boolean;
  /** What the source was told that is held. */
  held: Held | undefined;
  /** Resolves when the agent's start is over. */
  readonly started: Promise<void>;
  /** Hands over contents and in-sync. */
  sync(updates: readonly Update[]): Promise<void>;
}

/** Makes a dataplane on the rig's clock. */
export type StartDataplane = (
  settings: ReadonlyMap<string, string>,
  events: DataplaneEvents,
  clock: ManualClock,
) => Promise<DataplaneHandle>;

/** An agent for host "h" whose source is the test's, and so is the dataplane: a fake one unless `start` makes another. */
export function agentRig(
  env: Readonly<Record<string, string>> = {},
  start?: StartDataplane,
  more: Partial<Pick<AgentOptions, "hasRules" | "onSettings">> & { readonly stateDirectory?: string } = {},
): AgentRig {
  const local = {
    env: { FELIX_FELIXHOSTNAME: "h", FELIX_MTUFILE: "none", FELIX_ENDPOINTSTATUSPATHPREFIX: "none", ...env },
    fileText: undefined,
    fileName: "felix.cfg",
  };
  const clock = new ManualClock();
  const health = new HealthAggregator(clock);
  const metrics = createMetrics();
  const logger = memoryLogger();
  const dataplane = new FakeDataplane();
  const requests: ShutdownReason[] = [];
  const acks: number[] = [];
  const controller = new AbortController();
  let callbacks: SourceCallbacks | undefined;
  const state: Pick<AgentRig, "held" | "report" | "sourceStopped"> = {
    held: undefined,
    report: { connected: true, detail: "following a test" },
    sourceStopped: false,
  };
  const { stateDirectory, ...options } = more;
  const directory = stateDirectory ?? "";
  const agent = createAgent({
    ...options,
    state: directory === "" ? undefined : new StateStore({ directory, hostname: "h", clock, logger }),
    config: loadFelixConfig(local).values,
    local,
    source: (given) => {
      callbacks = given;
      return {
        start(held) {
          state.held = held;
        },
        stop: () => {
          state.sourceStopped = true;
          return Promise.resolve();
        },
        ack: (sequence) => void acks.push(sequence),
        report: () => state.report,
      };
    },
    startDataplane: ({ settings }, events) =>
      start === undefined ? dataplane.start(settings, events) : start(settings, events, clock),
    clock,
    random: () => 0.5,
    logger,
    health,
    metrics,
    shutdown: { signal: controller.signal, request: (reason) => void requests.push(reason) },
  });
  if (callbacks === undefined) throw new Error("The agent made no source");
  const source: SourceCallbacks = callbacks;
  const started = agent.start();
  return Object.assign(state, {
    agent,
    started,
    clock,
    health,
    metrics,
    logger,
    dataplane,
    source,
    acks,
    requests,
    async sync(updates: readonly Update[]) {
      await source.onStatusUpdated("resync");
      await source.onUpdates(updates);
      const synced = source.onStatusUpdated("in-sync");
      await clock.advance(0);
      await synced;
    },
  });
}
