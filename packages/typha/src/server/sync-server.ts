import type { Clock } from "@bulrush/base";
import { frameMessage, type GoodbyeCode, type RejectCode, type SyncerType } from "@bulrush/proto";
import type { Logger } from "@bulrush/service";
import type { ServedCache } from "../cache/served-cache.ts";
import type { Reached } from "../pipeline/reached-revision.ts";
import { ClientRegistry } from "./client-registry.ts";
import { ClientSession } from "./client-session.ts";
import { Drain } from "./drain.ts";
import { FanOut } from "./fan-out.ts";
import { LimitedLog } from "./limited-log.ts";
import { PropagationWindow } from "./propagation.ts";
import type { ServerMetrics } from "./server-metrics.ts";
import type { Advice, SessionContext } from "./session-context.ts";
import { type SyncServerSettings, sweepIntervalMs } from "./settings.ts";
import type { Transport } from "./transport.ts";

/** One of the streams that are served. */
export interface ServedStream {
  readonly cache: ServedCache;
  /** Age of the oldest kind's last answer from the datastore. */
  readonly upstreamAgeMs: () => number;
  /** How far the source has read its datastore; undefined: revisions say nothing. */
  readonly reached?: () => Reached | undefined;
  /** Hears how long each fan-out of this stream took: the flush window goes by it. */
  readonly onFanOut?: (durationMs: number) => void;
}

export interface SyncServerOptions {
  readonly settings: SyncServerSettings;
  readonly streams: readonly ServedStream[];
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** `setImmediate`. */
  readonly defer: (callback: () => void) => void;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  /** Other servers for a client that has to leave, best first. Default: none are known. */
  readonly namePeers?: () => readonly string[];
  /** Connection ids begin with it, then with what is random and one per life of the server. Default: nothing. */
  readonly idPrefix?: string;
  /** The places for streams, where this server shares them with others. Default: it has all of them. */
  readonly places?: StreamPlaces;
  /** A stream has joined; before its welcome. */
  readonly onJoined?: (session: ClientSession) => void;
  /** A stream that has joined is gone. */
  readonly onLeft?: (session: ClientSession) => void;
}

/** How many streams there may be, on several servers together. */
export interface StreamPlaces {
  /** Takes one place more than the `own` that this server has, if there is one. */
  take(own: number): boolean;
  /** This server has so many streams. */
  set(own: number): void;
}

/** Codes with which a client should go to another server. The others are about the client itself. */
const ELSEWHERE: ReadonlySet<RejectCode | GoodbyeCode> = new Set([
  "too-many-connections",
  "shutting-down",
  "draining",
  "not-in-sync",
  "stale",
  "internal",
]);

/** Wait before coming back, by code; half of it at least, so that a fleet spreads out. */
const RETRY_AFTER_MS: Partial<Record<RejectCode | GoodbyeCode, number>> = {
  "too-many-connections": 10_000,
  "shutting-down": 2000,
  draining: 1000,
  rebalancing: 1000,
  "not-in-sync": 2000,
  stale: 1000,
  "fell-behind": 2000,
  identity: 30_000,
  "unsupported-version": 60_000,
  "unknown-syncer": 60_000,
};
const DEFAULT_RETRY_AFTER_MS = 5000;
/** Pings within this time are one frame. */
const PING_REUSE_MS = 50;
/** Connections with a websocket and no hello; more are cut. */
const MAX_SILENT = 4096;
/** A stale server whose clients can go elsewhere sends all of them there within this time. */
const STALE_HANDOVER_MS = 60_000;

/**
 * The sync server without its sockets: sessions, fan-out, times, limits, drain. Whoever accepts connections hands each
 * one over as a transport.
 *
 * ```
 *  listener -> upgrade -> Transport --accept()--> ClientSession -hello-> ClientStream <-pump- FanOut <-onPublish- cache
 *                                                      |                                        |
 *                                             ClientRegistry (names, types)        onFanOut -> flush window
 *  one timer: sweep() over all sessions: handshake, write, ping, pong, lag, closing
 * ```
 * One sweep instead of timers per client: a thousand idle clients cost nothing between two sweeps.
 *
 * Invariant: `#sessions` holds every session from `accept` to its close; the registry those among them that stream.
 */
export class SyncServer {
  readonly #options: SyncServerOptions;
  readonly #context: SessionContext;
  readonly #sessions = new Set<ClientSession>();
  readonly #registry = new ClientRegistry<ClientSession>();
  readonly #streams: ReadonlyMap<SyncerType, ServedStream>;
  readonly #unsubscribes: (() => void)[] = [];
  readonly #log: LimitedLog;
  readonly #sweepMs: number;
  readonly #idPrefix: string;
  readonly #pings = new Map<SyncerType, { readonly atMs: number; readonly frame: Buffer }>();
  readonly #propagation = new Map<SyncerType, PropagationWindow>();
  /** The highest revision above our own that a client was told of, and since when we know. */
  readonly #heardOf = new Map<SyncerType, { readonly revision: number; readonly atMs: number }>();
  #nextId = 1;
  #drain: Drain | undefined = undefined;
  #cancelSweep: () => void = () => {};

  constructor(options: SyncServerOptions) {
    this.#options = options;
    const { clock, random, defer, logger, metrics, settings } = options;
    this.#log = new LimitedLog(clock, logger);
    const life = Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, "0");
    this.#idPrefix = `${options.idPrefix ?? ""}${life}`;
    this.#streams = new Map(options.streams.map((stream) => [stream.cache.syncer, stream]));
    this.#context = {
      clock,
      random,
      defer,
      logger,
      metrics,
      settings,
      log: this.#log,
      caches: new Map(options.streams.map(({ cache }) => [cache.syncer, cache])),
      admission: () => this.#admission(),
      advice: (code) => this.#advice(code),
      pingFrame: (type) => this.#pingFrame(type),
      isBehind: (type, revision) => this.#isBehind(type, revision),
      staleSinceMs: (type) => this.#staleSinceMs(type),
      propagation: (type) => this.propagation(type),
      onStreaming: (session) => this.#onStreaming(session),
      onClosed: (session) => this.#onClosed(session),
    };
    for (const stream of options.streams) this.#subscribe(stream);
    this.#sweepMs = sweepIntervalMs(settings);
    this.#scheduleSweep();
  }

  /** Sessions of any state, handshakes on the websocket included. */
  get connectionCount(): number {
    return this.#sessions.size;
  }

  /** The streaming sessions. */
  sessions(): readonly ClientSession[] {
    return this.#registry.all();
  }

  /** The newest propagation times of a type. */
  propagation(type: SyncerType): PropagationWindow {
    let window = this.#propagation.get(type);
    if (window === undefined) this.#propagation.set(type, (window = new PropagationWindow()));
    return window;
  }

  /** True when another live client has the same node name. */
  isDuplicate(session: ClientSession): boolean {
    return this.#registry.isDuplicate(session);
  }

  /** The stream of this connection. */
  find(connectionId: string): ClientSession | undefined {
    return this.#registry.all().find(({ id }) => id === connectionId);
  }

  /** Looks again at the clients that wait for this server to have read the datastore. */
  retryWaiting(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const session of this.#sessions) if (session.state === "opening") session.sweep(nowMs);
  }

  /** The log for what strangers do before they have a session. */
  get log(): LimitedLog {
    return this.#log;
  }

  /**
   * Takes a connection whose peer is who it should be. The hello must come before `handshakeDeadlineMs` (monotonic;
   * default: a whole handshake time from now).
   */
  accept(transport: Transport, handshakeDeadlineMs?: number): void {
    if (this.#sessions.size - this.#registry.count >= MAX_SILENT) {
      this.#options.metrics.rejected("overload");
      transport.destroy();
      return;
    }
    this.#newSession(transport, handshakeDeadlineMs).start();
  }

  /** Takes a connection only to tell its peer why it is refused. Nothing that it sends is read. */
  refuse(transport: Transport, code: RejectCode, reason: string): void {
    const session = this.#newSession(transport, undefined);
    session.start();
    session.reject(code, reason);
  }

  /**
   * Says goodbye to everybody, one after the other at even distances within the budget, and takes nobody new. Resolves
   * when the last one is gone. Calling it again gives the same promise.
   */
  drain(): Promise<void> {
    const { clock, random, settings, logger } = this.#options;
    this.#drain ??= new Drain({ clock, random, settings, logger, sessions: () => [...this.#sessions] });
    return this.#drain.done;
  }

  /** Cuts what is left and stops the timers. Call after `drain`, or without it in a hurry. */
  close(): void {
    this.#cancelSweep();
    for (const unsubscribe of this.#unsubscribes.splice(0)) unsubscribe();
    for (const session of this.#sessions) session.cut("The server closes");
  }

  #newSession(transport: Transport, deadlineMs: number | undefined): ClientSession {
    const { clock, settings } = this.#options;
    const id = `${this.#idPrefix}-${this.#nextId++}`;
    const deadline = deadlineMs ?? clock.monotonicMs() + settings.handshakeTimeoutMs;
    const session = new ClientSession(this.#context, transport, id, deadline);
    this.#sessions.add(session);
    return session;
  }

  #subscribe(stream: ServedStream): void {
    const { clock, defer, metrics } = this.#options;
    const type = stream.cache.syncer;
    const streamMetrics = metrics.stream(type);
    const fanOut = new FanOut(
      clock,
      defer,
      () => this.#registry.ofType(type),
      (durationMs) => {
        streamMetrics.fanOutSeconds.observe(durationMs / 1000);
        stream.onFanOut?.(durationMs);
      },
    );
    this.#unsubscribes.push(
      stream.cache.onPublish((head) => {
        if (head.kvCount > 0) streamMetrics.kvsPerMessage.observe(head.kvCount);
        fanOut.onPublish();
      }),
    );
  }

  #admission(): { readonly code: RejectCode; readonly reason: string } | undefined {
    if (this.#drain !== undefined) return { code: "shutting-down", reason: "The server is shutting down" };
    const { maxConnections } = this.#options.settings;
    const { places } = this.#options;
    const { count } = this.#registry;
    if (places === undefined ? count < maxConnections : places.take(count)) return undefined;
    return { code: "too-many-connections", reason: `The server has its limit of ${maxConnections} connections` };
  }

  #advice(code: RejectCode | GoodbyeCode): Advice {
    const base = RETRY_AFTER_MS[code] ?? DEFAULT_RETRY_AFTER_MS;
    const peers = ELSEWHERE.has(code) ? (this.#options.namePeers?.() ?? []) : [];
    return { retryAfterMs: Math.round(base * (0.5 + 0.5 * this.#options.random())), peers };
  }

  #pingFrame(type: SyncerType): Buffer {
    const nowMs = this.#options.clock.nowMs();
    const made = this.#pings.get(type);
    if (made !== undefined && Math.abs(nowMs - made.atMs) <= PING_REUSE_MS) return made.frame;
    const stream = this.#streams.get(type);
    const upstreamAgeMs = Math.max(0, stream?.upstreamAgeMs() ?? 0);
    const frame = frameMessage({
      type: "ping",
      sentAtMs: nowMs,
      upstreamAgeMs,
      sequence: stream?.cache.head.sequence ?? 0,
      ...(this.#isStale(upstreamAgeMs) && { staleSinceMs: Math.max(0, nowMs - upstreamAgeMs) }),
    });
    this.#pings.set(type, { atMs: nowMs, frame });
    return frame;
  }

  #staleSinceMs(type: SyncerType): number | undefined {
    const ageMs = this.#streams.get(type)?.upstreamAgeMs() ?? 0;
    return this.#isStale(ageMs) ? Math.max(0, this.#options.clock.nowMs() - ageMs) : undefined;
  }

  /**
   * True while a client was told of a revision that this server has not read. Where the datastore was set back to an
   * older state that would be for ever: so no more, once all kinds have answered since it was first heard of.
   */
  #isBehind(type: SyncerType, revision: number): boolean {
    const stream = this.#streams.get(type);
    const reached = stream?.reached?.();
    if (stream === undefined || reached === undefined) return false;
    const nowMs = this.#options.clock.monotonicMs();
    let heard = this.#heardOf.get(type);
    if (heard !== undefined && heard.revision <= reached.revision) this.#heardOf.delete(type);
    if (revision <= reached.revision) return !reached.isWhole;
    if (heard === undefined || heard.revision < revision) this.#heardOf.set(type, (heard = { revision, atMs: nowMs }));
    return !reached.isWhole || stream.upstreamAgeMs() >= nowMs - heard.atMs;
  }

  #isStale(upstreamAgeMs: number): boolean {
    const { staleAfterMs } = this.#options.settings;
    return staleAfterMs > 0 && upstreamAgeMs > staleAfterMs;
  }

  #onStreaming(session: ClientSession): void {
    const { duplicates, superseded } = this.#registry.add(session);
    this.#options.places?.set(this.#registry.count);
    this.#options.onJoined?.(session);
    for (const old of superseded) old.goodbye("superseded", "The same client has connected again");
    if (duplicates.length > 0) {
      this.#log.warn("Two clients use one node name", {
        ...session.describe(),
        otherPeers: duplicates.slice(0, 8).map((other) => other.transport.peer),
      });
    }
    if (session.hello !== undefined) this.#options.metrics.stream(session.hello.syncer).streaming.add(1);
    this.#options.metrics.duplicates.set(this.#registry.duplicateNames);
  }

  #onClosed(session: ClientSession): void {
    this.#sessions.delete(session);
    if (session.hello !== undefined && session.stream !== undefined) {
      this.#registry.remove(session);
      this.#options.places?.set(this.#registry.count);
      this.#options.onLeft?.(session);
      this.#options.metrics.stream(session.hello.syncer).streaming.add(-1);
      this.#options.metrics.duplicates.set(this.#registry.duplicateNames);
    }
    if (this.#sessions.size === 0) this.#drain?.onEmpty();
  }

  #scheduleSweep(): void {
    this.#cancelSweep = this.#options.clock.after(this.#sweepMs, () => {
      const nowMs = this.#options.clock.monotonicMs();
      for (const session of this.#sessions) session.sweep(nowMs);
      this.#leaveStale();
      this.#scheduleSweep();
    });
  }

  /** Sends the clients of a stale stream to servers that are not, a few in each time between sweeps, while there are any. */
  #leaveStale(): void {
    if (this.#drain !== undefined) return;
    for (const [type, { upstreamAgeMs }] of this.#streams) {
      if (!this.#isStale(upstreamAgeMs())) continue;
      const sessions = [...this.#registry.ofType(type)].filter(({ state }) => state === "streaming");
      const share = Math.ceil((this.#registry.ofType(type).size * this.#sweepMs) / STALE_HANDOVER_MS);
      const gapMs = this.#sweepMs / share;
      for (const [index, session] of sessions.slice(0, share).entries())
        this.#options.clock.after(index * gapMs, () => this.#leaveOne(session, upstreamAgeMs()));
    }
  }

  #leaveOne(session: ClientSession, ageMs: number): void {
    if (this.#drain !== undefined || session.state !== "streaming" || !this.#isStale(ageMs)) return;
    const peers = this.#options.namePeers?.() ?? [];
    if (peers.length === 0) return;
    session.goodbye("stale", `No answer from the datastore for ${Math.round(ageMs / 1000)} s`, peers);
  }
}
