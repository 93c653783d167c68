import {
  bucketCountOf,
  type ClientMessage,
  type Delta,
  type Goodbye,
  type Hello,
  type KV,
  OLDEST_PROTOCOL_VERSION,
  type Ping,
  PROTOCOL_VERSION,
  type Reject,
  revisionNumber,
  type ServerMessage,
  type SnapshotChunk,
  type SnapshotEnd,
  type Status,
  type SyncerType,
  type Welcome,
} from "@bulrush/proto";
import type { AckTracker } from "./ack-tracker.ts";
import type { BucketScope, DedupeBuffer } from "./dedupe-buffer.ts";
import { SyncClientError } from "./errors.ts";

/** Where the client stands in a server's stream; outlives the connection. */
interface StreamPosition {
  readonly epoch: string;
  readonly sequence: number;
}

/** What outlives a session. */
export interface SessionStream {
  readonly buffer: DedupeBuffer;
  readonly acks: AckTracker;
  /** undefined until a snapshot is complete, and while one is under way. */
  position: StreamPosition | undefined;
  /** A server broke the order: only a whole snapshot is to be trusted next. */
  isSuspect: boolean;
  /** The highest revision that any server told, of those that are numbers. */
  newestRevision: number | undefined;
}

export interface SessionOptions {
  readonly stream: SessionStream;
  readonly syncer: SyncerType;
  readonly hostname: string;
  readonly info: string;
  readonly clientId: string;
  send(message: ClientMessage): void;
  /** Before anything that is held changes. May throw: then this server is not followed. */
  onBeforeWelcome(welcome: Welcome): void;
  onWelcome(welcome: Welcome): void;
  onSnapshotEnd(): void;
  onDelta(delta: Delta): void;
  onPing(ping: Ping): void;
  /** The server will close; what it still sends counts. */
  onGoodbye(error: SyncClientError): void;
}

type Phase = "handshake" | "snapshot" | "streaming";

/**
 * The protocol as one connection sees it: holds every message to the order that it must come in and fills the buffer.
 * Throws {@link SyncClientError}: PROTOCOL where the server broke the order, REJECTED where it said so.
 *
 * ```
 *  hello -> handshake --welcome snapshot, buckets--> snapshot --snapshot-end--> streaming
 *               \------------welcome deltas---------------------------------------^  delta n+1.., status, ping
 * ```
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #stream: SessionStream;
  #phase: Phase = "handshake";
  #welcome: Welcome | undefined;
  #snapshotKVs = 0;
  /** Of the digests in the hello; 0: it had none. */
  #bucketCount = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#stream = options.stream;
  }

  /** Call once, when the connection is open. */
  start(): void {
    const { syncer, hostname, info, clientId } = this.#options;
    const { buffer, position, isSuspect, newestRevision } = this.#stream;
    const digests = isSuspect ? undefined : buffer.digests();
    this.#bucketCount = digests === undefined ? 0 : bucketCountOf(digests);
    const hello: Hello = {
      type: "hello",
      version: PROTOCOL_VERSION,
      hostname,
      syncer,
      info,
      clientId,
      ...(position !== undefined && { resume: position }),
      ...(digests !== undefined && { digests }),
      ...(newestRevision !== undefined && { revision: newestRevision }),
    };
    this.#options.send(hello);
  }

  onMessage(message: ServerMessage): void {
    switch (message.type) {
      case "welcome":
        this.#expect("handshake", message);
        this.#onWelcome(message);
        return;
      case "snapshot":
        this.#expect("snapshot", message);
        this.#onSnapshotChunk(message);
        return;
      case "snapshot-end":
        this.#expect("snapshot", message);
        this.#onSnapshotEnd(message);
        return;
      case "delta":
        this.#expect("streaming", message);
        this.#onDelta(message);
        return;
      case "status":
        this.#expect("streaming", message);
        this.#onStatus(message);
        return;
      case "ping":
        if (this.#phase === "handshake") throw outOfOrder(message, this.#phase);
        this.#options.send({ type: "pong", pingSentAtMs: message.sentAtMs });
        this.#options.onPing(message);
        return;
      case "reject":
        this.#expect("handshake", message);
        throw ended("SYNC_CLIENT_REJECTED", "rejected this client", message);
      default:
        this.#options.onGoodbye(ended("SYNC_CLIENT_GOODBYE", "ended the stream", message));
    }
  }

  #onWelcome(welcome: Welcome): void {
    const { stream, syncer } = this.#options;
    const { version, epoch, sequence } = welcome;
    if (version < OLDEST_PROTOCOL_VERSION || version > PROTOCOL_VERSION)
      throw broken(`Server speaks version ${version} of the protocol, not ${PROTOCOL_VERSION}`);
    if (welcome.syncer !== syncer) throw broken(`Server serves ${welcome.syncer}, not ${syncer}`);
    if (welcome.resume === "deltas") {
      const { position } = stream;
      if (position?.epoch !== epoch || position.sequence !== sequence)
        throw broken(`Server resumes at ${sequence}, not at ${position?.sequence ?? "a snapshot"}`);
      this.#options.onBeforeWelcome(welcome);
      this.#phase = "streaming";
    } else {
      const scope = this.#scopeOf(welcome);
      this.#options.onBeforeWelcome(welcome);
      stream.position = undefined;
      stream.buffer.startSnapshot(scope);
      this.#phase = "snapshot";
    }
    this.#welcome = welcome;
    stream.acks.startEpoch(epoch);
    this.#options.onWelcome(welcome);
    // After a resume the server knows of no ack yet.
    const { applied } = stream.acks;
    if (applied !== undefined) this.#options.send({ type: "ack", sequence: applied });
  }

  #scopeOf({ resume, buckets = [] }: Welcome): BucketScope | undefined {
    if (resume !== "buckets") return undefined;
    const count = this.#bucketCount;
    if (count === 0) throw broken("Server sends some buckets to a client that told it nothing");
    const beyond = buckets.find((bucket) => bucket >= count);
    if (beyond !== undefined) throw broken(`Server names bucket ${beyond} of ${count}`);
    return { buckets, count };
  }

  #onSnapshotChunk(chunk: SnapshotChunk): void {
    this.#snapshotKVs += chunk.kvs.length;
    this.#onKVs(chunk.kvs);
  }

  #onKVs(kvs: readonly KV[]): void {
    const { stream } = this.#options;
    for (const { revision } of kvs) {
      const number = revisionNumber(revision);
      if (number !== undefined && number > (stream.newestRevision ?? -1)) stream.newestRevision = number;
    }
    stream.buffer.onKVs(kvs);
  }

  #onSnapshotEnd(end: SnapshotEnd): void {
    if (end.count !== this.#snapshotKVs)
      throw broken(`Server sent ${this.#snapshotKVs} KVs of a snapshot of ${end.count}`);
    if (end.sequence !== this.#welcome?.sequence)
      throw broken(`Server ends a snapshot of ${end.sequence}, begun as ${this.#welcome?.sequence ?? "none"}`);
    this.#phase = "streaming";
    this.#stream.isSuspect = false;
    this.#moveTo(end.sequence);
    this.#options.onSnapshotEnd();
  }

  #onDelta(delta: Delta): void {
    const at = this.#stream.position?.sequence;
    if (delta.fromSequence !== at || delta.sequence < at)
      throw broken(`Server sent the changes from ${delta.fromSequence} to ${delta.sequence} after ${at ?? "nothing"}`);
    this.#onKVs(delta.kvs);
    this.#moveTo(delta.sequence);
    this.#options.onDelta(delta);
  }

  #onStatus(status: Status): void {
    const at = this.#stream.position?.sequence ?? 0;
    // A breadcrumb with nothing but a status comes with an empty delta before it.
    if (status.sequence > at) throw broken(`Server sent the status of ${status.sequence} at ${at}`);
    this.#stream.buffer.onStatus(status.status);
  }

  #moveTo(sequence: number): void {
    const { stream } = this.#options;
    stream.position = { epoch: this.#welcome?.epoch ?? "", sequence };
    stream.buffer.onMark(stream.acks.mark(sequence));
  }

  #expect(phase: Phase, message: ServerMessage): void {
    if (this.#phase !== phase) throw outOfOrder(message, this.#phase);
  }
}

function outOfOrder(message: ServerMessage, phase: Phase): SyncClientError {
  return broken(`Server sent ${message.type} during ${phase}`);
}

function broken(message: string): SyncClientError {
  return new SyncClientError("SYNC_CLIENT_PROTOCOL", message);
}

function ended(
  code: "SYNC_CLIENT_REJECTED" | "SYNC_CLIENT_GOODBYE",
  what: string,
  message: Reject | Goodbye,
): SyncClientError {
  const { type, retryAfterMs, peers } = message;
  return new SyncClientError(code, `Server ${what} (${message.code}): ${message.reason}`, {
    data: { [type]: message.code, retryAfterMs, peers },
  });
}
