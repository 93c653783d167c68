import { assert, type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { Logger } from "@bulrush/service";
import type { BalanceView } from "../admin/views.ts";
import type { BalancerMetrics } from "./balancer-metrics.ts";
import { type ConnectionLimit, connectionLimit, type LimitBasis } from "./connection-limit.ts";
import { PeerTable } from "./peer-table.ts";
import { pickTargets, planShed, type ShedPlan, type ShedTarget, type TypeCounts } from "./plan-shed.ts";
import { RecentlyShed } from "./recently-shed.ts";
import { Reservations } from "./reservations.ts";
import type { ServerLoad } from "./server-load.ts";
import type { TyphaEndpoint } from "./typha-endpoints.ts";

export interface BalancerSettings {
  readonly lower: number;
  /** Streams beyond it are rejected at hello, by the sync server. */
  readonly upper: number;
  /** Streams that this server has, each of which a node is expected to follow. */
  readonly syncerTypes: number;
  readonly basis: LimitBasis["type"];
  readonly levelling: boolean;
  /** Between two streams that are shed, plus up to 10 %. */
  readonly dropIntervalMs: number;
  /** Between two counts of servers and nodes, plus up to 10 %. */
  readonly pollIntervalMs: number;
}

/** A stream that may be handed over. */
export interface BalancedStream {
  /** One per life of the client. */
  readonly clientId: string;
  /** What it follows: one of the streams that are served. */
  readonly type: string;
  /** Unix ms. */
  readonly connectedAtMs: number;
  goodbye(reason: string, peers: readonly string[]): void;
}

export interface BalancerOptions {
  readonly settings: BalancerSettings;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: BalancerMetrics;
  /** Random, one per life of the process. */
  readonly instance: string;
  /** The ready servers, this one among them or not. May fail. */
  readonly listTyphas: (signal: AbortSignal) => Promise<readonly TyphaEndpoint[]>;
  /** undefined until all nodes are known. */
  readonly countNodes: () => number | undefined;
  /** Asks another server, and for a place for a client as `reserve` says. May fail. */
  readonly askLoad: (address: string, reserve: Reserve, signal: AbortSignal) => Promise<ServerLoad>;
  readonly streams: () => readonly BalancedStream[];
  /** Whether this server is one to send clients to. */
  readonly takesClients: () => boolean;
}

/** The type of the stream that is to be sent; "": any; undefined: none is. */
export type Reserve = string | undefined;

/** Between two questions to the other servers, at most. */
const ASK_INTERVAL_MS = 10_000;
/** A list of servers, or a load, that takes longer has failed. */
const ANSWER_TIMEOUT_MS = 5000;
/** A surplus is handed over within this time, if need be faster than one each drop interval. */
const MAX_SHEDDING_MS = 150_000;
const MIN_GAP_MS = 20;
/** A client stays where it is for this long at least. */
const MIN_STAY_MS = 45_000;
/** So many of the streams that were handed over may come back before that is worth a word, and this part of all. */
const MANY_BACK = 5;
const MANY_BACK_SHARE = 0.02;
/** Servers that a goodbye or reject names. */
const NAMED_PEERS = 3;

/**
 * Keeps the connections of a fleet of servers level: counts, works the limit out, asks the other servers how many
 * streams they have, and hands over what is too many, one polite goodbye after the other.
 *
 * ```
 *   listTyphas, countNodes --poll--> connectionLimit --+
 *   askLoad of each peer --10 s--> PeerTable ----------+--tick--> planShed --> a stream's goodbye, with peers
 *                                     ^------------------ reserve, sent -------------'
 * ```
 * Errors in counting never lower the limit, and a server that does not answer gets nobody.
 *
 * Invariant: at most one of each of the three loops waits for its timer, and none after `stop`.
 */
export class Balancer {
  readonly #options: BalancerOptions;
  readonly #peers: PeerTable;
  readonly #recent: RecentlyShed = new RecentlyShed();
  readonly #reservations: Reservations = new Reservations();
  readonly #stopping = new AbortController();
  readonly #cancels = new Map<string, CancelTimer>();
  #typhas: number | undefined = undefined;
  #nodes: number | undefined = undefined;
  #problem: string | undefined = "not counted yet";
  #limit: ConnectionLimit;
  #rounding = 0;
  #isStuck = false;
  #hasManyBack = false;
  /** Monotonic: when the surplus should be gone; undefined while there is none. */
  #sheddingUntilMs: number | undefined = undefined;
  #isStarted = false;

  constructor(options: BalancerOptions) {
    this.#options = options;
    this.#limit = { limit: options.settings.upper, reason: "error" };
    this.#peers = new PeerTable(options.instance);
  }

  start(): void {
    assert(!this.#isStarted, "A balancer is started once");
    this.#isStarted = true;
    void this.#poll().then(() => this.#ask());
    this.#scheduleTick(this.#options.settings.dropIntervalMs);
  }

  stop(): void {
    this.#stopping.abort(new Error("The server stops"));
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels.clear();
  }

  /** What this server tells the others. `reserve`: the one that asks is about to send a client. */
  load(reserve: Reserve): ServerLoad {
    const { clock, instance, streams, takesClients } = this.#options;
    const all = streams();
    const types = new Map(countTypes(all));
    for (const [type, count] of this.#reservations.countTypes(clock.nowMs(), all))
      types.set(type, (types.get(type) ?? 0) + count);
    const load = {
      instance,
      streams: all.length + this.#reservations.count(clock.nowMs(), all),
      types: Object.fromEntries(types),
      limit: this.#ownLimit(),
      takesClients: takesClients() && !this.#stopping.signal.aborted,
    };
    if (reserve !== undefined) this.#reservations.add(clock.nowMs(), reserve === "" ? undefined : reserve);
    return load;
  }

  /** Servers to name to a client that has to leave: those with the fewest streams most often. */
  namePeers(): readonly string[] {
    const names = pickPeers(this.peerTargets(), this.#options.random);
    if (names[0] !== undefined) this.sentTo(names[0]);
    return names;
  }

  /** Servers that have room, for `pickPeers`. */
  peerTargets(): readonly ShedTarget[] {
    return this.#peers.known(this.#options.clock.monotonicMs()).flatMap(({ address, streams, limit }) => {
      const weight = (limit - streams) / (1 + streams);
      return weight > 0 ? [{ address, weight }] : [];
    });
  }

  /** A client was told to go there, if it can. */
  sentTo(address: string): void {
    this.#peers.sent(address);
  }

  /** What the limit is worked out from at the moment, and what comes out. */
  view(): BalanceView {
    const { clock } = this.#options;
    const { lower, upper, syncerTypes, basis, levelling } = this.#options.settings;
    return {
      ...this.#limit,
      typhas: this.#typhas ?? null,
      nodes: this.#nodes ?? null,
      problem: this.#problem ?? null,
      settings: { lower, upper, syncerTypes, basis, levelling },
      peers: this.#peers.list(clock.monotonicMs()).map(({ address, load }) => ({
        address,
        streams: load?.streams ?? null,
        limit: load?.limit ?? null,
        takesClients: load?.takesClients ?? false,
      })),
    };
  }

  async #poll(): Promise<void> {
    const { logger, countNodes, listTyphas, settings } = this.#options;
    try {
      const endpoints = await this.#inTime(listTyphas);
      this.#peers.setEndpoints(endpoints);
      this.#typhas = endpoints.length;
      if (this.#problem !== undefined) logger.info("Counted the servers", { typhas: endpoints.length });
      this.#problem = undefined;
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#typhas = undefined;
      const problem = messageOf(error);
      // The same each poll is said once.
      if (problem !== this.#problem) logger.warn("Cannot count the servers; the limit is the upper one", { error });
      this.#problem = problem;
    }
    this.#nodes = countNodes();
    this.#workOut();
    this.#after("poll", settings.pollIntervalMs * (1 + 0.1 * this.#options.random()), () => void this.#poll());
  }

  #workOut(): void {
    const { settings, logger, metrics } = this.#options;
    const { lower, upper, syncerTypes } = settings;
    const basis: LimitBasis =
      settings.basis === "formula"
        ? { type: "formula", syncerTypes }
        : { type: "observed", connections: this.#observed() };
    const limit = connectionLimit({ typhas: this.#typhas, nodes: this.#nodes, basis, lower, upper });
    const { limit: before, reason } = this.#limit;
    this.#limit = limit;
    metrics.counted(limit.limit, this.#typhas, this.#nodes);
    if (limit.limit !== before || limit.reason !== reason)
      logger.info("Connection limit", { ...limit, typhas: this.#typhas, nodes: this.#nodes });
  }

  /** Streams of all servers; undefined while one has not said. */
  #observed(): number | undefined {
    const others = this.#peers.total(this.#options.clock.monotonicMs());
    return others === undefined ? undefined : others + this.#options.streams().length;
  }

  async #ask(): Promise<void> {
    const { random, settings } = this.#options;
    await Promise.all(this.#peers.toAsk().map((endpoint) => this.#askOne(endpoint, undefined)));
    if (this.#stopping.signal.aborted) return;
    this.#rounding = random();
    this.#sayCameBack();
    if (settings.basis === "observed") this.#workOut();
    const intervalMs = Math.min(ASK_INTERVAL_MS, settings.pollIntervalMs);
    this.#after("ask", intervalMs * (1 + 0.1 * random()), () => void this.#ask());
  }

  /** Whether it answered, at one of its addresses. */
  async #askOne({ id, addresses }: TyphaEndpoint, reserve: Reserve): Promise<boolean> {
    const { askLoad, clock, logger } = this.#options;
    for (const address of addresses) {
      try {
        const load = await this.#inTime((signal) => askLoad(address, reserve, signal));
        this.#peers.answered(id, address, load, clock.monotonicMs());
        return true;
      } catch (error) {
        if (this.#stopping.signal.aborted) return false;
        logger.debug("A server does not tell its load", { address, error });
      }
    }
    this.#peers.silent(id);
    return false;
  }

  async #tick(): Promise<void> {
    const { dropIntervalMs } = this.#options.settings;
    const plan = this.#plan();
    if (plan.type === "rest") this.#sheddingUntilMs = undefined;
    else await this.#shed(plan);
    this.#scheduleTick(plan.type === "rest" ? dropIntervalMs : this.#gapMs(plan.surplus));
  }

  #plan(): ShedPlan {
    const { settings, clock, streams, takesClients } = this.#options;
    if (!takesClients()) return { type: "rest", stuck: false };
    const all = streams();
    const own = all.length;
    const ownTypes = countTypes(all);
    const limit = this.#ownLimit();
    const peers = this.#peers.known(clock.monotonicMs());
    const plan = planShed({ own, ownTypes, limit, peers, levelling: settings.levelling, rounding: this.#rounding });
    this.#sayStuck(plan.type === "rest" && plan.stuck, own, limit);
    return plan;
  }

  /** One stream, if there is still one too many once the server that is to have it has spoken. */
  async #shed({ targets, syncer }: ShedPlan & { readonly type: "shed" }): Promise<void> {
    const { clock, streams, random, metrics } = this.#options;
    const [chosen] = pickTargets(targets, 1, random);
    const id = chosen === undefined ? undefined : this.#peers.idOf(chosen);
    if (chosen === undefined || id === undefined) return;
    if (!(await this.#askOne({ id, addresses: [chosen] }, syncer ?? ""))) return;
    const plan = this.#plan();
    if (plan.type === "rest" || plan.syncer !== syncer || !plan.targets.some(({ address }) => address === chosen))
      return;
    const all = streams();
    const stream = this.#choose(syncer === undefined ? all : all.filter(({ type }) => type === syncer));
    if (stream === undefined) return;
    const others = plan.targets.filter(({ address }) => address !== chosen);
    this.#peers.sent(chosen, stream.type);
    this.#recent.add(stream.clientId, clock.nowMs());
    metrics.shed(plan.why);
    const why = plan.why === "limit" ? `and its limit is ${this.#ownLimit()}` : "and others have fewer";
    const types = [...countTypes(all)].map(([type, count]) => `${type} ${count}`).join(", ");
    stream.goodbye(`This server has ${all.length} streams (${types}), ${why}`, [
      chosen,
      ...pickTargets(others, NAMED_PEERS - 1, random),
    ]);
  }

  /** Even over what is left of the time, so that the last one is not late. */
  #gapMs(surplus: number): number {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#sheddingUntilMs === undefined || nowMs >= this.#sheddingUntilMs)
      this.#sheddingUntilMs = nowMs + MAX_SHEDDING_MS;
    const evenMs = (this.#sheddingUntilMs - nowMs) / surplus;
    return Math.min(this.#options.settings.dropIntervalMs, Math.max(MIN_GAP_MS, evenMs));
  }

  #ownLimit(): number {
    return Math.min(this.#limit.limit, this.#options.settings.upper);
  }

  /** The one that has been here longest, so that nobody is moved twice in a row. */
  #choose(streams: readonly BalancedStream[]): BalancedStream | undefined {
    const { clock } = this.#options;
    const newestMs = clock.nowMs() - MIN_STAY_MS;
    let oldest: BalancedStream | undefined;
    for (const stream of streams) {
      if (stream.connectedAtMs > newestMs || this.#recent.has(stream.clientId, clock.nowMs())) continue;
      if (oldest === undefined || stream.connectedAtMs < oldest.connectedAtMs) oldest = stream;
    }
    return oldest;
  }

  #sayStuck(isStuck: boolean, streams: number, limit: number): void {
    if (isStuck === this.#isStuck) return;
    this.#isStuck = isStuck;
    const { logger, metrics } = this.#options;
    metrics.stuck(isStuck);
    if (isStuck)
      logger.warn("Over the connection limit, but no other server has room: nobody is sent away", { streams, limit });
    else logger.info("No longer over the connection limit without room elsewhere", { streams, limit });
  }

  /** Clients that come back though they were sent elsewhere: the sign of a drop loop. */
  #sayCameBack(): void {
    const { clock, streams, metrics, logger } = this.#options;
    const all = streams();
    const count = this.#recent.cameBack(all, clock.nowMs());
    metrics.cameBack(count);
    const isMany = count > Math.max(MANY_BACK, all.length * MANY_BACK_SHARE);
    if (isMany && !this.#hasManyBack)
      logger.warn("Streams that were handed over come back: the servers may be dropping them in circles", {
        cameBack: count,
        streams: all.length,
        limit: this.#ownLimit(),
      });
    this.#hasManyBack = isMany;
  }

  #scheduleTick(gapMs: number): void {
    this.#after("tick", gapMs * (1 + 0.1 * this.#options.random()), () => void this.#tick());
  }

  #after(what: "poll" | "ask" | "tick", delayMs: number, callback: () => void): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancels.set(what, this.#options.clock.after(delayMs, callback));
  }

  async #inTime<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = this.#options.clock.after(ANSWER_TIMEOUT_MS, () => {
      const error = new Error(`no answer in ${ANSWER_TIMEOUT_MS / 1000} s`);
      late.abort(error);
      reject(error);
    });
    try {
      return await Promise.race([call(AbortSignal.any([this.#stopping.signal, late.signal])), promise]);
    } finally {
      cancel();
    }
  }
}

/** The servers that a goodbye or reject names. `random`: numbers in [0, 1). */
export function pickPeers(targets: readonly ShedTarget[], random: () => number): readonly string[] {
  return pickTargets(targets, NAMED_PEERS, random);
}

function countTypes(streams: readonly BalancedStream[]): TypeCounts {
  const counts = new Map<string, number>();
  for (const { type } of streams) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}
