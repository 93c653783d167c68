import { type Ack, frameMessage, type GoodbyeCode, type Pong, type SyncerType, type Welcome } from "@bulrush/proto";
import type { Breadcrumb } from "../cache/breadcrumb.ts";
import { PIECE_BYTES, type Snapshot } from "../cache/snapshot.ts";
import type { ServedCache } from "../cache/served-cache.ts";
import { LagWatch } from "./lag-watch.ts";
import type { Opening } from "./opening.ts";
import type { StreamMetrics } from "./server-metrics.ts";
import type { SessionContext } from "./session-context.ts";
import type { Transport } from "./transport.ts";

/** One write in so many is timed: observing each costs more than the write's own bookkeeping. */
const TIMED_WRITES = 64;
/** One sweep in so many counts for the metric of lags, for the same reason. */
const LAG_SWEEPS = 8;
/** The first version that tells the time between pings. Clients of older ones go after 30 s of silence. */
const PING_INTERVAL_VERSION = 3;
const OLD_PING_INTERVAL_MS = 10_000;

/** Why a stream has to end. `cut`: the peer does not read, so a goodbye would not reach it. */
export type StreamVerdict =
  | { readonly cut: false; readonly code: GoodbyeCode; readonly reason: string }
  | { readonly cut: true; readonly reason: string };

/** Where a stream stands, for lists. */
export interface StreamPlace {
  /** The last sequence that was handed to the socket. */
  readonly sentSequence: number;
  /** The last sequence that the client reported as applied. */
  readonly appliedSequence: number | undefined;
  readonly lagMs: number;
  readonly bytesSent: number;
  /** undefined before the welcome. */
  readonly begunWith: Welcome["resume"] | undefined;
  readonly inSnapshot: boolean;
}

/**
 * What one client is sent: welcome, snapshot, then the chain from the snapshot's breadcrumb on.
 *
 * ```
 *   begin --> [welcome][snapshot chunks ... end, status] --> crumb -> crumb -> (head: wait for onPublish)
 *                          64 KB pieces, one in flight          next piece after the write and a turn of the loop
 * ```
 * The queue of a client is its place in the shared chain: there is at most one piece per socket outside of it, so a
 * slow client costs a slow client's memory and nobody's time.
 *
 * Why not on 'drain': a pump that goes on in the write's callback runs before every timer, and stops them all for as
 * long as readers are fast.
 *
 * Invariant: `#busy` while a write is in flight; `#crumb` is the last one handed over (or of the snapshot that is);
 * `#frames` are what must go before the chain.
 */
export class ClientStream {
  readonly syncer: SyncerType;
  readonly #context: SessionContext;
  readonly #cache: ServedCache;
  readonly #transport: Transport;
  readonly #metrics: StreamMetrics;
  readonly #onWritten: () => void;
  readonly #lagWatch: LagWatch;
  readonly #written: () => void = () => this.#afterWrite();
  readonly #again: () => void = () => this.pump();
  #frames: readonly Buffer[] = [];
  #frameIndex = 0;
  /** What `#frames` are of, until the last of them is handed over. */
  #snapshot: Snapshot | undefined = undefined;
  #crumb: Breadcrumb | undefined = undefined;
  #busy = false;
  #stopped = false;
  #begunWith: Welcome["resume"] | undefined = undefined;
  /** When the oldest breadcrumb of the write in flight was made; undefined: none in it. */
  #inFlightSinceMs: number | undefined = undefined;
  #writeStartMs = 0;
  #writes = 0;
  #sweeps = 0;
  #bytesSent = 0;
  /** How much of it the metric has. */
  #bytesCounted = 0;
  readonly #beganMs: number;
  #snapshotDoneMs: number | undefined = undefined;
  #pingIntervalMs: number;
  #nextPingMs = 0;
  #pingDue = false;
  /** Frames for this client alone. */
  readonly #words: Buffer[] = [];
  /** Unanswered since, monotonic. */
  #pingSentMs: number | undefined = undefined;
  #appliedSequence: number | undefined = undefined;

  constructor(
    context: SessionContext,
    cache: ServedCache,
    syncer: SyncerType,
    transport: Transport,
    onWritten: () => void,
  ) {
    this.#context = context;
    this.#cache = cache;
    this.syncer = syncer;
    this.#transport = transport;
    this.#metrics = context.metrics.stream(syncer);
    this.#onWritten = onWritten;
    this.#beganMs = context.clock.monotonicMs();
    this.#pingIntervalMs = context.settings.pingIntervalMs;
    this.#lagWatch = new LagWatch(context.settings.maxFallBehindMs, context.settings.newClientGraceMs);
  }

  /** True while a write is in flight. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Says the welcome, and then what the opening says. Once. The opening's snapshot is the stream's from here on. */
  begin(
    opening: Opening,
    welcome: Omit<Welcome, "type" | "epoch" | "syncer" | "resume" | "sequence" | "pingIntervalMs">,
  ): void {
    const { resume, crumb, buckets, snapshot } = opening;
    const tellsInterval = welcome.version >= PING_INTERVAL_VERSION;
    if (!tellsInterval) this.#pingIntervalMs = Math.min(this.#pingIntervalMs, OLD_PING_INTERVAL_MS);
    const pings = tellsInterval ? { pingIntervalMs: this.#pingIntervalMs } : {};
    this.#begunWith = resume;
    this.#metrics.begun(resume);
    const { epoch } = this.#cache;
    const { sequence } = crumb;
    const first = { type: "welcome", epoch, syncer: this.syncer, resume, sequence, ...welcome, ...pings } as const;
    this.#frames = [
      frameMessage(buckets === undefined ? first : { ...first, buckets }),
      // After deltas, the status as of that breadcrumb: the client may have taken its own back when it lost the stream.
      ...(snapshot?.pieces ?? [frameMessage({ type: "status", sequence, status: crumb.status })]),
    ];
    this.#snapshot = snapshot;
    this.#crumb = crumb;
    this.pump();
  }

  /** Says a frame as soon as the socket is free, between those of the stream. Not before `begin`. */
  say(frame: Buffer): void {
    this.#words.push(frame);
    this.pump();
  }

  /** Hands the next piece to the socket, if it is free and there is one. Cheap when there is nothing to do. */
  pump(): void {
    if (this.#busy || this.#stopped) return;
    if (this.#frames.length > 0 || this.#pingDue || this.#words.length > 0) {
      this.#pumpAll();
      return;
    }
    // Nearly always: one step of the chain and nothing else.
    const next = this.#crumb?.next;
    if (next === undefined) return;
    if (next.next !== undefined) {
      this.#pumpAll();
      return;
    }
    this.#inFlightSinceMs = next.timestampMs;
    this.#crumb = next;
    this.#write(next.frames, next.frame.length);
  }

  #pumpAll(): void {
    const piece: Buffer[] = [];
    let bytes = 0;
    const hasRoom = (frame: Buffer): boolean => bytes === 0 || bytes + frame.length <= PIECE_BYTES;
    while (this.#frameIndex < this.#frames.length) {
      const frame = this.#frames[this.#frameIndex] as Buffer;
      if (!hasRoom(frame)) break;
      this.#frameIndex++;
      piece.push(frame);
      bytes += frame.length;
    }
    if (this.#frameIndex >= this.#frames.length) {
      this.#releaseFrames();
      for (let next = this.#crumb?.next; next !== undefined && hasRoom(next.frame); next = next.next) {
        this.#inFlightSinceMs ??= next.timestampMs;
        this.#crumb = next;
        piece.push(next.frame);
        bytes += next.frame.length;
      }
    }
    if (this.#pingDue) {
      this.#pingDue = false;
      this.#pingSentMs = this.#context.clock.monotonicMs();
      const frame = this.#context.pingFrame(this.syncer);
      piece.push(frame);
      bytes += frame.length;
    }
    for (const word of this.#words.splice(0)) {
      piece.push(word);
      bytes += word.length;
    }
    if (piece.length > 0) this.#write(piece, bytes);
  }

  #write(frames: readonly Buffer[], bytes: number): void {
    this.#busy = true;
    this.#bytesSent += bytes;
    this.#writeStartMs = this.#context.clock.monotonicMs();
    this.#transport.write(frames, this.#written);
  }

  /** A pong or ack. Gives what is wrong with it, if anything. */
  onMessage(message: Pong | Ack, nowMs: number): string | undefined {
    if (message.type === "pong") {
      if (this.#pingSentMs === undefined) return undefined;
      this.#metrics.pingSeconds.observe((this.#context.clock.monotonicMs() - this.#pingSentMs) / 1000);
      this.#pingSentMs = undefined;
      return undefined;
    }
    const { sequence } = message;
    // Of this stream or of one before it: a client that comes back may be ahead of the snapshot that it is sent.
    const newest = this.#cache.head.sequence;
    if (sequence > newest) return `Sequence ${sequence} is acknowledged, but ${newest} is the newest`;
    if (sequence <= (this.#appliedSequence ?? -1)) return undefined;
    const first = this.#appliedSequence === undefined;
    this.#appliedSequence = sequence;
    const crumb = first ? undefined : this.#cache.at(sequence);
    if (crumb !== undefined && crumb.kvCount > 0) {
      const ms = Math.max(0, nowMs - crumb.seenAtMs);
      this.#metrics.propagationSeconds.observe(ms / 1000);
      this.#context.propagation(this.syncer).add(ms);
    }
    return undefined;
  }

  /** Looks at all that takes too long, and pings. `nowMs` is monotonic. */
  sweep(nowMs: number): StreamVerdict | undefined {
    const { settings } = this.#context;
    this.#countBytes();
    if (this.#busy && nowMs - this.#writeStartMs > settings.writeTimeoutMs)
      return { cut: true, reason: `A write was stuck for ${settings.writeTimeoutMs} ms` };
    if (this.#pingSentMs !== undefined && nowMs - this.#pingSentMs > settings.pongTimeoutMs)
      return { cut: false, code: "pong-timeout", reason: `No pong came within ${settings.pongTimeoutMs} ms` };
    const backlogBytes = this.#backlogBytes();
    if (backlogBytes > settings.maxBacklogBytes)
      return { cut: false, code: "fell-behind", reason: `${backlogBytes} bytes of changes wait for this client` };
    if (this.#snapshotDoneMs === undefined) return undefined;
    const lagMs = this.lagMs();
    if (++this.#sweeps % LAG_SWEEPS === 0) this.#metrics.lagSeconds.observe(lagMs / 1000);
    const judgement = this.#lagWatch.judge(lagMs, nowMs, this.#snapshotDoneMs);
    if (judgement === "grace-used") this.#metrics.graceUsed.inc();
    if (judgement === "too-far")
      return { cut: false, code: "fell-behind", reason: `${Math.round(lagMs)} ms behind and not catching up` };
    if (nowMs >= this.#nextPingMs && this.#pingSentMs === undefined) {
      this.#schedulePing(nowMs);
      this.#pingDue = true;
      this.pump();
    }
    return undefined;
  }

  /** Age of the oldest breadcrumb that the client's kernel does not have; 0 when it has all. */
  lagMs(): number {
    const sinceMs = this.#inFlightSinceMs ?? this.#crumb?.next?.timestampMs;
    return sinceMs === undefined ? 0 : Math.max(0, this.#context.clock.nowMs() - sinceMs);
  }

  place(): StreamPlace {
    return {
      sentSequence: this.#snapshotDoneMs === undefined ? 0 : (this.#crumb?.sequence ?? 0),
      appliedSequence: this.#appliedSequence,
      lagMs: this.lagMs(),
      bytesSent: this.#bytesSent,
      begunWith: this.#begunWith,
      inSnapshot: this.#snapshotDoneMs === undefined,
    };
  }

  /** Nothing is handed over any more, and what the stream held on to is let go. */
  stop(): void {
    this.#stopped = true;
    this.#countBytes();
    this.#releaseFrames();
    this.#crumb = undefined;
  }

  #releaseFrames(): void {
    this.#frames = [];
    this.#frameIndex = 0;
    if (this.#snapshot !== undefined) this.#cache.release(this.#snapshot);
    this.#snapshot = undefined;
  }

  /** What this client keeps in memory of the chain, about; others may keep the same. */
  #backlogBytes(): number {
    return this.#crumb === undefined ? 0 : this.#cache.head.endByte - this.#crumb.endByte;
  }

  /** Not at each write: a counter of the registry costs as much as all the rest of our part of a write. */
  #countBytes(): void {
    this.#context.metrics.bytesSent.inc(this.#bytesSent - this.#bytesCounted);
    this.#bytesCounted = this.#bytesSent;
  }

  #afterWrite(): void {
    this.#busy = false;
    this.#inFlightSinceMs = undefined;
    if (++this.#writes % TIMED_WRITES === 0)
      this.#metrics.writeSeconds.observe((this.#context.clock.monotonicMs() - this.#writeStartMs) / 1000);
    this.#onWritten();
    if (this.#stopped) return;
    if (this.#snapshotDoneMs === undefined && this.#frames.length === 0) this.#afterSnapshot();
    if (this.#frames.length > 0 || this.#crumb?.next !== undefined || this.#pingDue || this.#words.length > 0)
      this.#context.defer(this.#again);
  }

  #afterSnapshot(): void {
    const nowMs = this.#context.clock.monotonicMs();
    this.#snapshotDoneMs = nowMs;
    if (this.#begunWith === "snapshot") this.#metrics.snapshotSendSeconds.observe((nowMs - this.#beganMs) / 1000);
    this.#schedulePing(nowMs);
  }

  #schedulePing(nowMs: number): void {
    this.#nextPingMs = nowMs + this.#pingIntervalMs * (1 + 0.1 * this.#context.random());
  }
}
