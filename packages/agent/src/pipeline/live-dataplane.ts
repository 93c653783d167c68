import {
  CalcError,
  DataplaneState,
  explainFlow,
  type FlowText,
  type FlowVerdict,
  type IpSetDescription,
  knownEnds,
  parseFlow,
  workloadIdText,
} from "@bulrush/calc";
import type {
  DataplaneCounters,
  DataplaneEvents,
  DataplaneHandle,
  DataplaneStatus,
  EndpointStatus,
  FromDataplane,
  HostReport,
  StagedConnections,
  TrackedFlow,
} from "@bulrush/dataplane";
import type { ToDataplane } from "@bulrush/proto";
import { endpointReports } from "../report/endpoint-report.ts";
import { stagedConnections } from "../report/staged-connections.ts";
import { replay } from "./replay.ts";

/** Starts a dataplane on the kernel of this process; it does nothing before its first message. */
export type StartDataplane = (
  settings: ReadonlyMap<string, string>,
  events: DataplaneEvents,
) => Promise<DataplaneHandle>;

const SLICE = 500;

/** The answer for a flow, or why there is none. */
export type HostExplanation = { readonly verdict: FlowVerdict } | { readonly problem: string };

/** A dataplane that was started; no two have the same number. */
interface Started {
  readonly id: number;
  readonly handle: DataplaneHandle;
}

/**
 * A dataplane whose settings can change while it runs: another one takes its place.
 *
 * ```
 *  send ──> DataplaneState ──> the dataplane of the moment ──> kernel
 *                 │                     ^ stopped: the kernel stays
 *                 └─ everything again ──> the next one adopts it and writes what the settings change, in one batch
 * ```
 *
 * Memory: what the dataplane was told is held once more, but for the text that the graph has anyway.
 *
 * Invariant: `#state` is what the dataplane of the moment, `#inner`, was sent; only of that one is told what it says (and
 * of `#renewal`, which was sent nothing, that it has ended). Whatever else was started is stopped. `#known` are the endpoints that the
 * owner was told a status of and no removal.
 */
export class LiveDataplane implements DataplaneHandle {
  readonly #start: StartDataplane;
  readonly #events: DataplaneEvents;
  #state = new DataplaneState();
  readonly #known = new Map<string, FromDataplane>();
  /** The first one that is started has this number too: it is listened to before it is there. */
  #inner: Started = { id: 0, handle: NOTHING };
  /** Waits for the first message of another graph. */
  #renewal: Started | undefined;
  /** How many were started. */
  #starts = 0;
  #toldAgain: Set<string> | undefined;
  #isInSyncTold = false;
  #turn: Promise<unknown> = Promise.resolve();
  /** Turns that are not over. */
  #waiting = 0;
  #mark: number | undefined;
  #status: DataplaneStatus | undefined;
  #earlier: DataplaneCounters | undefined;
  #wasReady = false;
  #stopped = false;

  private constructor(start: StartDataplane, events: DataplaneEvents) {
    this.#start = start;
    this.#events = events;
  }

  /** Rejects where the dataplane cannot be started. */
  static async start(
    start: StartDataplane,
    settings: ReadonlyMap<string, string>,
    events: DataplaneEvents,
  ): Promise<LiveDataplane> {
    const live = new LiveDataplane(start, events);
    live.#inner = await live.#startNext(settings);
    return live;
  }

  /** What this host has, as far as the dataplane was told. */
  sizes(): { readonly endpoints: number; readonly policies: number; readonly ipSets: number } {
    const { hostEndpoints, ipSets, policies, workloadEndpoints } = this.#state;
    return { endpoints: workloadEndpoints.size + hostEndpoints.size, policies: policies.size, ipSets: ipSets.size };
  }

  /** What it was told of endpoints, and has said of them. */
  report(): HostReport {
    const statuses = (endpoint: string): EndpointStatus | undefined => {
      const message = this.#known.get(endpoint);
      return message !== undefined && "status" in message ? message.status : undefined;
    };
    const { phase = "starting", reason = "the dataplane has said nothing yet" } = this.#status ?? {};
    return { phase, reason, endpoints: endpointReports(this.#state, statuses) };
  }

  /**
   * Judges a flow by what this host was told: at pods of its own, with any address as the other end. A problem where the
   * flow is none, or the agent does not know an end. `describeIpSet`: names sets for people.
   */
  explain(text: FlowText, describeIpSet: (id: string) => IpSetDescription | undefined): HostExplanation {
    const { hostEndpoints } = this.#state;
    const parsed = parseFlow(text, knownEnds(this.#state, []));
    if ("problem" in parsed) return { problem: `${parsed.problem}. The agent knows the pods of its own host only` };
    try {
      const verdict = explainFlow(this.#state, parsed.flow, { describeIpSet, whatIf: true });
      const { phase, reason } = this.report();
      const notes = [
        ...(verdict.notes ?? []),
        ...(hostEndpoints.size > 0 ? ["This host has host endpoints: what they say is not judged here"] : []),
        ...(phase === "in-sync" ? [] : [`This may not be in the kernel yet (${phase}: ${reason})`]),
      ];
      return { verdict: { ...verdict, ...(notes.length > 0 && { notes }) } };
    } catch (error) {
      if (!(error instanceof CalcError)) throw error;
      return { problem: error.message };
    }
  }

  /** See {@link stagedConnections}. */
  staged(tracked: Iterable<TrackedFlow>): Promise<StagedConnections> {
    return stagedConnections(this.#state, tracked, () => new Promise((resolve) => setImmediate(resolve)));
  }

  send(messages: readonly ToDataplane[]): Promise<void> {
    return this.#inTurn(async () => {
      // An empty send asks the dataplane of the moment for a sign of life.
      if (this.#renewal !== undefined && messages.length > 0) {
        const next = this.#renewal;
        this.#renewal = undefined;
        this.#state = new DataplaneState();
        await this.#takeOver(next);
      }
      try {
        for (const message of messages) this.#state.apply(message);
      } catch (error) {
        // A bug of the graph: whoever sends does not look at what becomes of it.
        this.#events.onFatal?.(error as Error);
        throw error;
      }
      await this.#inner.handle.send(messages);
    });
  }

  mark(sequence: number): void {
    this.#mark = sequence;
    if (this.#waiting === 0) this.#inner.handle.mark(sequence);
    else void this.#inTurn(() => Promise.resolve(this.#inner.handle.mark(sequence)));
  }

  resync(): void {
    this.#inner.handle.resync();
  }

  /**
   * Goes on with other settings; the kernel has them when everything is written (`onApplied`, the status). Rejects, and
   * all stays as it was, where the next dataplane cannot be started. Between {@link renew} and the first message of the
   * other graph it is the dataplane for that graph which gets them.
   */
  reconfigure(settings: ReadonlyMap<string, string>): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#stopped) return;
      if (this.#renewal !== undefined) {
        await this.#startRenewal(settings);
        return;
      }
      await this.#takeOver(await this.#startNext(settings));
      for (const slice of slicesOf(replay(this.#state))) await this.#inner.handle.send(slice);
      if (this.#mark !== undefined) this.#inner.handle.mark(this.#mark);
    });
  }

  /**
   * What is sent from now on comes from another graph, which tells everything anew: another dataplane takes it, and the
   * one of the moment goes on until the first of it. Rejects as {@link reconfigure} does.
   */
  renew(settings: ReadonlyMap<string, string>): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#stopped) await this.#startRenewal(settings);
    });
  }

  /** In place of one that waits already. */
  async #startRenewal(settings: ReadonlyMap<string, string>): Promise<void> {
    const next = await this.#startNext(settings);
    const unused = this.#renewal;
    this.#renewal = next;
    await unused?.handle.stop();
  }

  async #startNext(settings: ReadonlyMap<string, string>): Promise<Started> {
    const id = this.#starts++;
    return { id, handle: await this.#start(settings, this.#eventsOf(id)) };
  }

  /** `next` has opened its sockets and waits: two never write at the same time. */
  async #takeOver(next: Started): Promise<void> {
    const previous = this.#inner.handle;
    this.#earlier = this.#countersWith(this.#status);
    this.#status = undefined;
    this.#toldAgain = new Set();
    this.#inner = next;
    await previous.stop();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#turn;
    await this.#renewal?.handle.stop();
    await this.#inner.handle.stop();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const run = this.#turn.then(work).finally(() => {
      this.#waiting--;
    });
    this.#turn = run.catch(() => {});
    return run;
  }

  #eventsOf(id: number): DataplaneEvents {
    const { onApplied, onFatal, onLog, onStatus } = this.#events;
    return {
      onStatus: (status) => {
        if (id !== this.#inner.id) return;
        this.#status = status;
        onStatus?.(this.#statusOf(status));
      },
      onApplied: (sequence) => {
        if (id === this.#inner.id) onApplied?.(sequence);
      },
      onMessage: (message) => {
        if (id === this.#inner.id) this.#onMessage(message);
      },
      onLog: (level, message, fields) => onLog?.(level, message, fields),
      onFatal: (error) => {
        if (id === this.#inner.id || id === this.#renewal?.id) onFatal?.(error);
      },
    };
  }

  /** One that takes over finds the rules of the one before: the host is as ready as it was. */
  #statusOf(status: DataplaneStatus): DataplaneStatus {
    this.#wasReady ||= status.ready;
    const ready = status.ready || (this.#wasReady && status.phase !== "stopped");
    return { ...status, ready, counters: this.#countersWith(status) ?? status.counters };
  }

  /** Totals since the first dataplane, sizes of the moment. */
  #countersWith(status: DataplaneStatus | undefined): DataplaneCounters | undefined {
    const [before, now] = [this.#earlier, status?.counters];
    if (before === undefined || now === undefined) return now ?? before;
    const drift = Object.fromEntries(
      Object.entries(now.drift).map(([kind, count]) => [kind, count + before.drift[kind as keyof typeof before.drift]]),
    ) as DataplaneCounters["drift"];
    return {
      ...now,
      drift,
      messages: before.messages + now.messages,
      applies: before.applies + now.applies,
      applyFailures: before.applyFailures + now.applyFailures,
      nftTransactions: before.nftTransactions + now.nftTransactions,
      nftReads: before.nftReads + now.nftReads,
      routeWrites: before.routeWrites + now.routeWrites,
      firstApplyMs: before.firstApplyMs,
    };
  }

  #onMessage(message: FromDataplane): void {
    switch (message.msg) {
      case "DataplaneInSync":
        this.#removeUntold();
        if (this.#isInSyncTold) return;
        this.#isInSyncTold = true;
        break;
      case "WorkloadEndpointStatusUpdate":
      case "HostEndpointStatusUpdate":
        this.#known.set(endpointOf(message), message);
        this.#toldAgain?.add(endpointOf(message));
        break;
      case "WorkloadEndpointStatusRemove":
      case "HostEndpointStatusRemove":
        this.#known.delete(endpointOf(message));
        break;
      default:
    }
    this.#events.onMessage?.(message);
  }

  /** An endpoint that went while dataplanes changed is unknown to the new one. */
  #removeUntold(): void {
    const told = this.#toldAgain;
    this.#toldAgain = undefined;
    if (told === undefined) return;
    for (const [endpoint, message] of this.#known) {
      if (told.has(endpoint)) continue;
      this.#known.delete(endpoint);
      if (message.msg === "WorkloadEndpointStatusUpdate")
        this.#events.onMessage?.({ msg: "WorkloadEndpointStatusRemove", id: message.id });
      if (message.msg === "HostEndpointStatusUpdate")
        this.#events.onMessage?.({ msg: "HostEndpointStatusRemove", id: message.id });
    }
  }
}

function endpointOf(
  message: Exclude<
    FromDataplane,
    { readonly msg: "DataplaneInSync" | "WireguardStatusUpdate" | "LiveMigrationArrival" }
  >,
): string {
  return typeof message.id === "string" ? `host/${message.id}` : `workload/${workloadIdText(message.id)}`;
}

function* slicesOf(messages: Iterable<ToDataplane>): Generator<readonly ToDataplane[]> {
  let slice: ToDataplane[] = [];
  for (const message of messages) {
    slice.push(message);
    if (slice.length < SLICE) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}

/** Before the first dataplane. */
const NOTHING: DataplaneHandle = {
  send: () => Promise.resolve(),
  mark: () => {},
  resync: () => {},
  stop: () => Promise.resolve(),
};
