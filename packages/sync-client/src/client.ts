import { assert, Backoff, CodedError, messageOf, sleep } from "@bulrush/base";
import type { Logger } from "@bulrush/service";
import { AckTracker } from "./ack-tracker.ts";
import { AckSender } from "./ack-sender.ts";
import { Connection } from "./connection.ts";
import { DedupeBuffer } from "./dedupe-buffer.ts";
import { Delivery } from "./delivery.ts";
import { SyncClientError } from "./errors.ts";
import type { SyncClient, SyncClientCallbacks, SyncClientOptions, SyncClientState } from "./options.ts";
import { formatServerAddress, parseServerAddress, type ServerAddress } from "./server-address.ts";
import { ServerPicker } from "./server-picker.ts";
import { Session, type SessionStream } from "./session.ts";
import { StateKeeper } from "./state-keeper.ts";
import type { TLSMaterial } from "./tls.ts";

/** Between two dials of one round over the known servers. */
const NEXT_SERVER_DELAY_MS = 100;
/** Part of a round's tries; a round has at least three. */
const TRIES_PER_SERVER = 2;
const MIN_SERVERS = 3;
/** A warning about a bad key comes at most this often. */
const BAD_KEY_WARNING_MS = 5 * 60_000;
/** What a server may ask for at most. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;

/** How a connection ended. */
interface Outcome {
  readonly error: Error;
  /** The stream lived long enough to trust the server. */
  readonly wasStable: boolean;
}

/**
 * Follows one server after another, for ever. Nothing happens before `start`.
 *
 * ```
 *  servers -> ServerPicker -> Connection (ws, TLS, time-outs) -> Session (order of messages)
 *                 ^                |  pause                          |
 *                 | hints, pauses  +---------- DedupeBuffer <--------+
 *                 +-- lost                          |
 *                                               Delivery -> callbacks -> ack
 * ```
 *
 * The buffer and the position outlive connections: a lost one changes nothing for the callbacks.
 */
export function createSyncClient(options: SyncClientOptions): SyncClient {
  return new Client(options);
}

class Client implements SyncClient {
  readonly #options: SyncClientOptions;
  readonly #log: Logger | undefined;
  readonly #picker: ServerPicker;
  readonly #backoff: Backoff;
  readonly #stream: SessionStream = { buffer: new DedupeBuffer(), acks: new AckTracker(), position: undefined };
  readonly #delivery: Delivery;
  readonly #acks: AckSender;
  readonly #state: StateKeeper;
  readonly #clientId: string;
  readonly #abort = new AbortController();
  readonly #maxPending: number;
  #connection: Connection | undefined;
  #listed: readonly ServerAddress[] = [];
  #failuresInRow = 0;
  #badKeyWarnedMs: number | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: SyncClientOptions) {
    this.#options = options;
    this.#log = options.logger;
    this.#picker = new ServerPicker({ random: options.random, nodeName: options.nodeName });
    this.#backoff = new Backoff(
      { initialMs: options.backoffInitialMs ?? 500, maxMs: options.backoffMaxMs ?? 30_000 },
      options.random,
    );
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

  start(): void {
    assert(this.#loop === undefined, "A sync client is started once");
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#connection?.close();
    this.#abort.abort(new SyncClientError("SYNC_CLIENT_CLOSED", "Client is stopped"));
    this.#acks.disconnect();
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
      const delayMs = await this.#tryNext();
      if (signal.aborted) return;
      if (delayMs > 0) {
        this.#state.set({ phase: "waiting" });
        await sleep(this.#options.clock, delayMs, signal).catch(() => undefined);
      }
    }
  }

  /** One server, from the choice to the loss. Returns the delay before the next. */
  async #tryNext(): Promise<number> {
    const { clock, random } = this.#options;
    await this.#list();
    const pick = this.#picker.next(this.#listed, clock.monotonicMs());
    // Half of the time that a server asked for is added at random, so that its clients do not come back together.
    if (pick.type === "wait") return pick.waitMs * (1 + random() / 2);
    if (pick.type === "none") {
      this.#state.failed(new SyncClientError("SYNC_CLIENT_DISCOVERY", "No server is known"));
      return this.#backoff.nextMs();
    }
    const { address } = pick;
    this.#state.set({ phase: "connecting", server: address, serverName: undefined });
    const { error, wasStable } = await this.#follow(address);
    if (this.#abort.signal.aborted) return 0;
    this.#state.failed(error);
    this.#log?.warn("Lost sync server", { server: formatServerAddress(address), error });
    return this.#delayAfter(address, error, wasStable);
  }

  async #list(): Promise<void> {
    const { servers } = this.#options;
    if (typeof servers !== "function") {
      this.#listed = servers;
      return;
    }
    try {
      this.#listed = await servers();
    } catch (cause) {
      // The last list is better than none.
      const error = new SyncClientError("SYNC_CLIENT_DISCOVERY", `Cannot list servers: ${messageOf(cause)}`, { cause });
      this.#state.failed(error);
      this.#log?.warn("Cannot list sync servers", { error });
    }
  }

  async #follow(address: ServerAddress): Promise<Outcome> {
    let tls: TLSMaterial | undefined;
    try {
      tls = await this.#material();
    } catch (error) {
      return { error: error as Error, wasStable: false };
    }
    if (this.#abort.signal.aborted) return { error: this.#abort.signal.reason as Error, wasStable: false };
    return await new Promise<Outcome>((resolve) => {
      this.#connect(address, tls, resolve);
    });
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

  #connect(address: ServerAddress, tls: TLSMaterial | undefined, resolve: (outcome: Outcome) => void): void {
    const { clock, syncer, hostname, info, stableAfterMs = 10_000 } = this.#options;
    const { signal } = this.#abort;
    let streamingSinceMs: number | undefined;
    const end = (error: Error): void => {
      signal.removeEventListener("abort", onAbort);
      if (this.#connection === connection) this.#connection = undefined;
      this.#acks.disconnect();
      // A server that broke the order may have left us with part of a change: only a snapshot mends that.
      if (error instanceof SyncClientError && error.code === "SYNC_CLIENT_PROTOCOL") this.#stream.position = undefined;
      const wasStable = streamingSinceMs !== undefined && clock.monotonicMs() - streamingSinceMs >= stableAfterMs;
      resolve({ error, wasStable });
    };
    const onAbort = (): void => end(signal.reason as Error);
    const session = new Session({
      stream: this.#stream,
      syncer,
      hostname,
      info,
      clientId: this.#clientId,
      send: (message) => connection.send(message),
      onWelcome: (welcome) => {
        this.#acks.connect((sequence) => connection.send({ type: "ack", sequence }));
        if (welcome.resume === "deltas") streamingSinceMs = clock.monotonicMs();
        this.#state.welcomed(welcome);
      },
      onSnapshotEnd: () => {
        streamingSinceMs = clock.monotonicMs();
        this.#state.set({ phase: "streaming" });
      },
      onPing: (ping) => this.#state.pinged(ping),
    });
    const connection = new Connection({
      address,
      tls,
      clock,
      dialTimeoutMs: this.#options.dialTimeoutMs ?? 10_000,
      readTimeoutMs: positive(this.#options.readTimeoutMs, 30_000),
      writeTimeoutMs: positive(this.#options.writeTimeoutMs, 10_000),
      onOpen: () => {
        this.#state.set({ phase: "handshake" });
        session.start();
      },
      onMessage: (message) => {
        this.#state.received(message);
        session.onMessage(message);
        this.#delivery.kick();
        if (this.#stream.buffer.pendingKVs > this.#maxPending) connection.pause();
      },
      onLost: end,
    });
    this.#connection = connection;
    signal.addEventListener("abort", onAbort, { once: true });
  }

  #delayAfter(address: ServerAddress, error: Error, wasStable: boolean): number {
    const { clock, random } = this.#options;
    const nowMs = clock.monotonicMs();
    if (wasStable) {
      this.#backoff.reset();
      this.#failuresInRow = 0;
      this.#picker.succeeded(address, nowMs);
    } else this.#failuresInRow++;
    const { retryAfterMs, peers } = wordsOf(error);
    if (retryAfterMs > 0) this.#picker.pause(address, nowMs + retryAfterMs, nowMs);
    if (peers.length > 0) this.#picker.hint(peers);
    const triesInRound = TRIES_PER_SERVER * Math.max(MIN_SERVERS, this.#listed.length);
    if (this.#picker.hasUntried(this.#listed, nowMs) && this.#failuresInRow < triesInRound)
      return NEXT_SERVER_DELAY_MS * (0.5 + random() / 2);
    return this.#backoff.nextMs();
  }

  /** There is room again for what the server sends. */
  #relieve(): void {
    if (this.#stream.buffer.pendingKVs <= this.#maxPending / 2) this.#connection?.resume();
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

function wordsOf(error: Error): { readonly retryAfterMs: number; readonly peers: readonly ServerAddress[] } {
  if (!(error instanceof SyncClientError)) return { retryAfterMs: 0, peers: [] };
  const { retryAfterMs, peers } = error.data;
  return {
    retryAfterMs: typeof retryAfterMs === "number" ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) : 0,
    peers: Array.isArray(peers) ? peers.flatMap(parsePeer) : [],
  };
}

function parsePeer(text: unknown): ServerAddress[] {
  try {
    return [parseServerAddress(String(text))];
  } catch {
    // A peer that cannot be read is no reason to leave the others.
    return [];
  }
}

function positive(value: number | undefined, fallback: number): number {
  return value !== undefined && value > 0 ? value : fallback;
}

/** 32 hexadecimal digits. */
function randomId(random: () => number): string {
  return Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join("");
}
