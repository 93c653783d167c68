import { SYNCER_TYPES, type SyncerType, type SyncStatus, type UpdateType } from "@bulrush/model";

/**
 * The sync protocol's messages, as both ends hold them. The codec, the version history and the golden frames stand
 * beside this file; the language-neutral truth is proto/README.md.
 *
 * ```
 *  client                                    server
 *    | hello {epoch?, sequence?, digests?}  ->  |   or reject {code, reason, retryAfterMs, peers}, close
 *    |  <-----------  welcome {epoch, sequence, resume}
 *    |  <-----------  snapshot chunk*, snapshot-end  (resume = "snapshot": the KVs of exactly that sequence;
 *    |                                                "buckets": those of the buckets that differ)
 *    |  <-----------  delta* / status* (breadcrumb n before n + 1; a status after the KVs before it)
 *    |  <-- ping --   pong, ack {sequence applied to the kernel}  ->
 *    |  <-----------  goodbye {code, reason, retryAfterMs, peers}, close
 * ```
 */
export const SYNC_PATH = "/v1/sync";
/** Sec-WebSocket-Protocol (RFC 6455, section 4.1) that both sides must name. */
export const SYNC_SUBPROTOCOL = "bulrush.sync.v1";
/** The port of upstream's Typha. */
export const SYNC_PORT = 5473;

export { SYNCER_TYPES, type SyncerType };

export type SyncMessage = ClientMessage | ServerMessage;
/** What a client may send; the hello first and once. */
export type ClientMessage = Hello | Pong | Ack;
/** What a server may send; a welcome or a reject first. */
export type ServerMessage = Welcome | SnapshotChunk | SnapshotEnd | Delta | Status | Ping | Reject | Goodbye;

/** First message of a client. */
export interface Hello {
  readonly type: "hello";
  /** Schema version that the client speaks at most (see versions.ts). */
  readonly version: number;
  readonly hostname: string;
  readonly syncer: SyncerType;
  /** Program version and whatever helps to find the peer in a log. */
  readonly info: string;
  /** Random, the same over the reconnects of one process: tells a reconnect from a second agent with one name. */
  readonly clientId: string;
  /** Where the client stands: the epoch of the server that it followed and the last sequence it received. */
  readonly resume?: { readonly epoch: string; readonly sequence: number };
  /**
   * What the client holds, in short, for a server that does not know that epoch or sequence (see `BucketDigests`). It
   * covers all that the client would keep: keys that a server not in sync has not shown are among it.
   */
  readonly digests?: string;
  /**
   * The highest revision of the datastore that the client was told of, where revisions are whole numbers. A server that
   * has not come so far must not tell the client what is gone.
   */
  readonly revision?: number;
}

/** The server's answer to a hello that it accepts. */
export interface Welcome {
  readonly type: "welcome";
  readonly version: number;
  /** Random, one per life of a server's cache. */
  readonly epoch: string;
  readonly syncer: SyncerType;
  /**
   * "deltas": only what came after the client's sequence follows. "buckets": a snapshot of `buckets` alone follows, and
   * in all others the client holds what the server holds. "snapshot": the client starts anew.
   */
  readonly resume: "deltas" | "buckets" | "snapshot";
  /** The sequence that the snapshot belongs to, or that the deltas follow. */
  readonly sequence: number;
  readonly connectionId: string;
  readonly serverName: string;
  /**
   * With "buckets", and only then: those in which client and server differ, of as many as the hello's digests have.
   * What the client holds in one of them and is not sent is gone, as with a whole snapshot.
   */
  readonly buckets?: readonly number[];
  /**
   * Unix ms of the last answer of the server's source, if the server counts itself as stale. A client that knows more
   * may turn away before anything is sent.
   */
  readonly staleSinceMs?: number;
  /** Time between the server's pings, to which it adds up to a tenth: what silence means depends on it. Since version 3. */
  readonly pingIntervalMs?: number;
}

/** One key with its value, which others hold too: nobody changes it. */
export interface KV {
  /** `formatKey` of the key. */
  readonly path: string;
  /** undefined: the key is gone. */
  readonly value: unknown;
  /** Of the datastore, opaque. */
  readonly revision: string;
  readonly updateType: UpdateType;
}

/** Part of a snapshot. A key comes once; chunks come in no promised order. */
export interface SnapshotChunk {
  readonly type: "snapshot";
  readonly kvs: readonly KV[];
}

/** Ends a snapshot: every key that exists at `sequence` was sent. */
export interface SnapshotEnd {
  readonly type: "snapshot-end";
  readonly sequence: number;
  readonly count: number;
}

/** The changes of the breadcrumbs `fromSequence + 1` to `sequence`, in order. */
export interface Delta {
  readonly type: "delta";
  readonly fromSequence: number;
  readonly sequence: number;
  readonly kvs: readonly KV[];
  /** Unix ms at which the server's syncer saw the newest of these changes. */
  readonly seenAtMs: number;
}

/** The status that holds from `sequence` on; comes after the KVs before it. */
export interface Status {
  readonly type: "status";
  readonly sequence: number;
  readonly status: SyncStatus;
}

/** The server's sign of life, one at a time: the next goes out only after the pong. */
export interface Ping {
  readonly type: "ping";
  /** Unix ms by the server's clock. */
  readonly sentAtMs: number;
  /** Age in ms of the upstream watch (the oldest kind's last answer). */
  readonly upstreamAgeMs: number;
  /** The server's newest sequence. */
  readonly sequence: number;
  /** Unix ms of the last answer, from the moment on that the server counts itself as stale; absent while it does not. */
  readonly staleSinceMs?: number;
}

export interface Pong {
  readonly type: "pong";
  /** `sentAtMs` of the ping that it answers. */
  readonly pingSentAtMs: number;
}

/** The client has applied everything up to `sequence` to its kernel (or to whatever its sink is). */
export interface Ack {
  readonly type: "ack";
  readonly sequence: number;
}

/** Why a server takes no client. A closed list for each version; a client reads any other word as "internal". */
export const REJECT_CODES = [
  "bad-hello",
  "handshake-timeout",
  "identity",
  "unsupported-version",
  "unknown-syncer",
  "too-many-connections",
  "message-too-big",
  "bad-message",
  "too-many-messages",
  "not-in-sync",
  "shutting-down",
  "internal",
] as const;
export type RejectCode = (typeof REJECT_CODES)[number];

/** Instead of a welcome. */
export interface Reject {
  readonly type: "reject";
  readonly code: RejectCode;
  readonly reason: string;
  /** Least delay before this server is tried again. */
  readonly retryAfterMs: number;
  /** Other servers, "host:port"; empty where it knows none. */
  readonly peers: readonly string[];
}

/**
 * Why a server ends an established stream. A closed list for each version; a client reads any other word as "internal".
 */
export const GOODBYE_CODES = [
  "draining",
  "rebalancing",
  "fell-behind",
  "pong-timeout",
  "stale",
  "superseded",
  "bad-message",
  "message-too-big",
  "too-many-messages",
  "internal",
] as const;
export type GoodbyeCode = (typeof GOODBYE_CODES)[number];

/** Ends an established stream. */
export interface Goodbye {
  readonly type: "goodbye";
  readonly code: GoodbyeCode;
  readonly reason: string;
  /** Least delay before this server is tried again. */
  readonly retryAfterMs: number;
  /** Other servers, "host:port"; empty where it knows none. */
  readonly peers: readonly string[];
}
