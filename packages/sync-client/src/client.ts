import { assert, CodedError, messageOf } from "@bulrush/base";
import type { Logger } from "@bulrush/service";
import { AckTracker } from "./ack-tracker.ts";
import { AckSender } from "./ack-sender.ts";
import { DedupeBuffer } from "./dedupe-buffer.ts";
import { Delivery } from "./delivery.ts";
import { type DialFailure, DialRace, type Racer } from "./dial-race.ts";
import { SyncClientError } from "./errors.ts";
import { Freshness } from "./freshness.ts";
import { Link } from "./link.ts";
import type { HeldState, SyncClient, SyncClientCallbacks, SyncClientOptions, SyncClientState } from "./options.ts";
import { formatServerAddress, type ServerAddress } from "./server-address.ts";
import { ServerChoice } from "./server-choice.ts";
import type { SessionStream } from "./session.ts";
import { ServerList } from "./server-list.ts";
import { StaleTimer } from "./stale-timer.ts";
import { StateKeeper } from "./state-keeper.ts";
import type { TLSMaterial } from "./tls.ts";
import { type Ping, revisionNumber, type Welcome } from "@bulrush/proto";

/** Servers that are dialled at the same time, at most. */
const MAX_RACERS = 3;
/** A server that answers is given this long for its welcome before another is dialled beside it. */
const PATIENCE_MS = 5000;
/** A warning about a bad key comes at most this often. */
const BAD_KEY_WARNING_MS = 5 * 60_000;

/**
 * Follows one server after another, for ever. Nothing happens before `start`.
 *
 * ```
 *  servers -> ServerChoice -> DialRace -> Link: Connection (ws, TLS, time-outs) -> Session (order of messages)
 *                 ^                               |  pause                          |
 *                 | hints, pauses                 +---------- DedupeBuffer <--------+
 *                 +-- lost, goodbye, stale                         |
 *                                                              Delivery -> callbacks -> ack
 *
 *  no link --race won--> link --goodbye, stale--> link and race --won--> the new link; the old one is closed
 *     ^                   |                            |  all failed: the old one goes on
 *     +------- lost ------+------------- lost ---------+  (the race goes on without it)
 * ```
 *
 * The buffer and the position outlive connections: a lost one changes nothing for the callbacks. While a new server has
 * our hello, which says what is held, the old one is held back: nothing may change until the welcome.
 */
export function createSyncClient(options: SyncClientOptions): SyncClient {
  return new Client(options);
}

class Client implements SyncClient {
  readonly #options: SyncClientOptions;
  readonly #log: Logger | undefined;
  readonly #servers: ServerList;
  readonly #choice: ServerChoice;
  readonly #stale: StaleTimer;
  readonly #freshness: Freshness = new Freshness();
  readonly #stream: SessionStream = {
    buffer: new DedupeBuffer(),
    acks: new AckTracker(),
    position: undefined,
    isSuspect: false,
    newestRevision: undefined,
  };
  readonly #delivery: Delivery;
  readonly #acks: AckSender;
  readonly #state: StateKeeper;
  readonly #clientId: string;
  readonly #abort = new AbortController();
  readonly #maxPending: number;
  /** The server that is followed. */
  #link: Link | undefined;
  #race: DialRace | undefined;
  /** Resolves when the loop has to look again: the link is lost, or is to be left. */
  #attention: PromiseWithResolvers<void> = Promise.withResolvers();
  #wantsMove = false;
  /** Before the next dial, after a loss; 0: none. */
  #lossDelayMs = 0;
  #badKeyWarnedMs: number | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: SyncClientOptions) {
    this.#options = options;
    this.#log = options.logger;
    const { servers, clock, random } = options;
    this.#servers = new ServerList({
      servers,
      clock,
      random,
      signal: this.#abort.signal,
      onError: (error) => {
        this.#state.failed(error);
        this.#log?.warn("Cannot list sync servers", { error });
      },
    });
    this.#stale = new StaleTimer({
      clock,
      random,
      leaveMs: options.staleLeaveMs ?? 60_000,
      onDue: () => {
        if (this.#freshness.staleSinceMs !== undefined) this.#leave();
      },
    });
    this.#choice = new ServerChoice({
      clock,
      random,
      nodeName: options.nodeName,
      backoffInitialMs: options.backoffInitialMs ?? 500,
      backoffMaxMs: options.backoffMaxMs ?? 30_000,
      known: () => this.#servers.known,
    });
    this.#clientId = randomId(options.random);
    this.#maxPending = options.maxPendingUpdates ?? 50_000;
    this.#state = new StateKeeper(options, () => ({
      serverSequence: this.#stream.position?.sequence,
      deliveredUpdates: this.#delivery.deliveredUpdates,
      suppressedUpdates: this.#stream.buffer.suppressedUpdates,
      madeUpDeletes: this.#stream.buffer.madeUpDeletes,
    }));
    this.#acks = new AckSender(this.#stream.acks, options.clock, options.ackIntervalMs ?? 100);
    this.#delivery = new Delivery({
      buffer: this.#stream.buffer,
      callbacks: this.#watchedCallbacks(),
      onBadKey: (path) => this.#onBadKey(path),
      onProgress: () => this.#relieve(),
    });
  }

  hold({ kvs, atMs }: HeldState): void {
    assert(this.#loop === undefined, "A sync client is told what is held before it is started");
    const stream = this.#stream;
    for (const { path, value, revision } of kvs) {
      stream.buffer.hold(path, value);
      const number = revisionNumber(revision);
      if (number !== undefined && number > (stream.newestRevision ?? -1)) stream.newestRevision = number;
    }
    if (stream.buffer.heldKeys > 0) this.#freshness.onHeld(atMs);
  }

  start(): void {
    assert(this.#loop === undefined, "A sync client is started once");
    const unfollow = this.#servers.follow();
    this.#loop = this.#run().finally(unfollow);
  }

  async stop(): Promise<void> {
    this.#abort.abort(new SyncClientError("SYNC_CLIENT_CLOSED", "Client is stopped"));
    this.#race?.stop();
    this.#link?.close();
    this.#acks.disconnect();
    this.#stale.stop();
    this.#attention.resolve();
    await this.#delivery.stop();
    await this.#loop;
    this.#state.set({ phase: "stopped" });
  }

  state(): SyncClientState {
    return this.#state.read();
  }

  ack(sequence: number): void {
    this.#acks.ack(sequence);
  }

  /** Ends only when the client is stopped: whatever fails is tried again. */
  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      if (this.#link === undefined) {
        const delayMs = this.#lossDelayMs;
        this.#lossDelayMs = 0;
        await this.#wait(delayMs > 0 ? delayMs : await this.#dial());
        continue;
      }
      await this.#attention.promise;
      this.#attention = Promise.withResolvers();
      if (this.#wantsMove && !signal.aborted) await this.#move();
    }
  }

  /** Without a server: dials until one takes us or all that were dialled failed. Returns the delay before the next. */
  async #dial(): Promise<number> {
    const { random } = this.#options;
    await this.#servers.refresh();
    if (this.#abort.signal.aborted) return 0;
    const pick = this.#choice.next();
    // Half of the time that a server asked for is added at random, so that its clients do not come back together.
    if (pick.type === "wait") return pick.waitMs * (1 + random() / 2);
    if (pick.type === "none") {
      this.#state.failed(new SyncClientError("SYNC_CLIENT_DISCOVERY", "No server is known"));
      return this.#choice.delayWithoutServers();
    }
    this.#state.set({ phase: "connecting", server: pick.address, serverName: undefined });
    const failures = await this.#runRace(pick.address);
    let delayMs = 0;
    for (const { address, error } of failures) delayMs = this.#choice.delayAfter(address, error, false);
    return this.#link === undefined ? delayMs : 0;
  }

  /** To another server, while this one is still followed. */
  async #move(): Promise<void> {
    this.#wantsMove = false;
    await this.#servers.refresh();
    const left = this.#link;
    if (this.#abort.signal.aborted || left === undefined) return;
    const pick = this.#choice.next([left.address]);
    const failures = pick.type === "server" ? await this.#runRace(pick.address) : [];
    for (const { address, error } of failures) this.#choice.heed(address, error);
    if (this.#link === left) {
      left.release();
      if (left.goodbye === undefined) this.#stale.retry();
    }
  }

  /** Resolves when one of the servers has become the link, or with none left; with those that failed. */
  async #runRace(first: ServerAddress): Promise<readonly DialFailure[]> {
    const { clock, dialStaggerMs = 1000 } = this.#options;
    const inUse = (racing: readonly ServerAddress[]): readonly ServerAddress[] =>
      this.#link === undefined ? racing : [...racing, this.#link.address];
    this.#race = new DialRace(first, {
      clock,
      staggerMs: dialStaggerMs,
      patienceMs: PATIENCE_MS,
      maxRacers: MAX_RACERS,
      next: (racing) => {
        const pick = this.#choice.next(inUse(racing));
        return pick.type === "server" ? pick.address : undefined;
      },
      dial: (address, outcome) => this.#dialOne(address, outcome),
    });
    const result = await this.#race.result;
    this.#race = undefined;
    if (this.#abort.signal.aborted || result.type === "won") return [];
    for (const { address, error } of result.failures) {
      this.#state.failed(error);
      this.#log?.warn("Cannot follow sync server", { server: formatServerAddress(address), error });
    }
    return result.failures;
  }

  #dialOne(address: ServerAddress, outcome: { won(): void; failed(error: Error): void }): Racer {
    let link: Link | undefined;
    let isClosed = false;
    this.#material().then(
      (tls) => {
        if (!isClosed) link = this.#newLink(address, tls, outcome);
      },
      (error: unknown) => {
        if (!isClosed) outcome.failed(error as Error);
      },
    );
    return {
      address,
      answeredMs: () => link?.answeredMs(),
      close: () => {
        isClosed = true;
        link?.close();
      },
    };
  }

  #newLink(
    address: ServerAddress,
    tls: TLSMaterial | undefined,
    outcome: { won(): void; failed(error: Error): void },
  ): Link {
    const { clock, syncer, hostname, info } = this.#options;
    const link: Link = new Link({
      address,
      tls,
      clock,
      syncer,
      hostname,
      info,
      stream: this.#stream,
      clientId: this.#clientId,
      dialTimeoutMs: this.#options.dialTimeoutMs ?? 10_000,
      readTimeoutMs: positive(this.#options.readTimeoutMs, 30_000),
      writeTimeoutMs: positive(this.#options.writeTimeoutMs, 10_000),
      onHello: () => {
        if (this.#link === undefined) this.#state.set({ phase: "handshake", server: address });
        else this.#link.hold();
      },
      admit: (welcome) => this.#admit(welcome),
      onWelcome: (welcome) => {
        this.#follow(link, welcome);
        outcome.won();
      },
      onSnapshotEnd: () => this.#state.set({ phase: "streaming" }),
      onDelta: (delta) => this.#freshness.onDelta(delta),
      onPing: (ping) => this.#onPing(ping),
      onGoodbye: () => this.#onGoodbye(link),
      onReceived: (message) => {
        this.#state.received(message);
        this.#delivery.kick();
        if (this.#stream.buffer.pendingKVs > this.#maxPending) link.pause();
      },
      onLost: (error) => {
        if (this.#link === link) this.#onLost(link, error);
        else outcome.failed(error);
      },
    });
    return link;
  }

  #admit(welcome: Welcome): void {
    const hasServer = this.#link !== undefined;
    if (this.#stream.buffer.heldKeys === 0 || this.#freshness.mayFollow(welcome, hasServer)) return;
    const sinceMs = welcome.staleSinceMs ?? 0;
    throw new SyncClientError(
      "SYNC_CLIENT_STALE",
      `Server ${welcome.serverName} has had no answer from its datastore since ${new Date(sinceMs).toISOString()}, and knows less than is known here`,
      { data: { staleSinceMs: sinceMs } },
    );
  }

  /** From here on this server is the one. */
  #follow(link: Link, welcome: Welcome): void {
    const left = this.#link;
    left?.close();
    this.#link = link;
    this.#wantsMove = false;
    this.#stale.stop();
    this.#freshness.onWelcome(welcome);
    this.#acks.disconnect();
    this.#acks.connect((sequence) => link.ack(sequence));
    this.#state.welcomed(link.address, welcome, left !== undefined);
    if (left !== undefined)
      this.#log?.info("Moved to another sync server", {
        from: formatServerAddress(left.address),
        to: formatServerAddress(link.address),
        resume: welcome.resume,
      });
    if (welcome.staleSinceMs !== undefined) this.#stale.retry();
  }

  #onPing(ping: Ping): void {
    this.#freshness.onPing(ping);
    this.#state.pinged(ping);
    if (ping.staleSinceMs === undefined) this.#stale.onFresh();
    else if (this.#race === undefined) this.#stale.onStale();
  }

  #onGoodbye(link: Link): void {
    const { goodbye } = link;
    if (this.#link !== link || goodbye === undefined) return;
    this.#log?.info("Sync server says goodbye", { server: formatServerAddress(link.address), error: goodbye });
    if (this.#isStable(link)) this.#choice.succeeded(link.address);
    this.#choice.heed(link.address, goodbye);
    this.#leave();
  }

  /** The loop is to look for another server. */
  #leave(): void {
    this.#wantsMove = true;
    this.#attention.resolve();
  }

  #onLost(link: Link, error: Error): void {
    this.#link = undefined;
    // A server that broke the order may have left us with part of a change: only a whole snapshot mends that.
    if (error instanceof SyncClientError && error.code === "SYNC_CLIENT_PROTOCOL") {
      this.#stream.position = undefined;
      this.#stream.isSuspect = true;
    }
    this.#acks.disconnect();
    this.#stale.stop();
    this.#state.failed(error);
    this.#log?.warn("Lost sync server", { server: formatServerAddress(link.address), error });
    this.#lossDelayMs = this.#choice.delayAfter(link.address, error, this.#isStable(link));
    if (this.#race !== undefined) this.#state.set({ phase: "connecting" });
    this.#attention.resolve();
  }

  #isStable(link: Link): boolean {
    return (link.livedMs() ?? -1) >= (this.#options.stableAfterMs ?? 10_000);
  }

  async #material(): Promise<TLSMaterial | undefined> {
    const { tls } = this.#options;
    if (typeof tls !== "function") return tls;
    try {
      return await tls();
    } catch (cause) {
      if (cause instanceof CodedError) throw cause;
      throw new SyncClientError("SYNC_CLIENT_TLS_MATERIAL", `Cannot get TLS material: ${messageOf(cause)}`, { cause });
    }
  }

  async #wait(delayMs: number): Promise<void> {
    if (delayMs <= 0 || this.#abort.signal.aborted || this.#link !== undefined) return;
    this.#state.set({ phase: "waiting" });
    await this.#servers.wait(delayMs);
  }

  /** There is room again for what the server sends. */
  #relieve(): void {
    if (this.#stream.buffer.pendingKVs <= this.#maxPending / 2) this.#link?.resume();
  }

  #watchedCallbacks(): SyncClientCallbacks {
    const { callbacks } = this.#options;
    return {
      onUpdates: (updates) => callbacks.onUpdates(updates),
      onStatusUpdated: (status) => {
        this.#state.set({ status });
        return callbacks.onStatusUpdated(status);
      },
      onSequence: (sequence) => callbacks.onSequence?.(sequence),
    };
  }

  #onBadKey(path: string): void {
    this.#state.countBadKey();
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#badKeyWarnedMs !== undefined && nowMs - this.#badKeyWarnedMs < BAD_KEY_WARNING_MS) return;
    this.#badKeyWarnedMs = nowMs;
    this.#log?.warn("Server sent a key that is not known", { path });
  }
}

function positive(value: number | undefined, fallback: number): number {
  return value !== undefined && value > 0 ? value : fallback;
}

/** 32 hexadecimal digits. */
function randomId(random: () => number): string {
  return Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join("");
}
