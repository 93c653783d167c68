import type { Clock } from "@bulrush/base";
import type { SyncerCallbacks, SyncStatus } from "@bulrush/model";
import type { SyncerType } from "@bulrush/proto";
import type { Logger } from "@bulrush/service";
import type { ServerAddress } from "./server-address.ts";
import type { Servers } from "./server-source.ts";
import type { TLSSource } from "./tls.ts";

/**
 * What the client calls, one call at a time; a returned promise is waited for.
 *
 * Order: a status after the KVs before it; `onSequence(n)` after everything that belongs to n was handed over. Several
 * may be merged: then only the last one is called.
 */
export interface SyncClientCallbacks extends SyncerCallbacks {
  /**
   * Everything up to `sequence` was handed over. The number is the client's own count: it grows over reconnects and
   * changes of server, and is what {@link SyncClient.ack} takes.
   */
  onSequence?(sequence: number): void | Promise<void>;
}

/** Times are in milliseconds; what has a default may be left out. */
export interface SyncClientOptions {
  /** The servers to choose from; a function is called before each choice. */
  readonly servers: Servers;
  /** Absent: plain TCP. A function is called before each dial, so that renewed files are taken up. */
  readonly tls?: TLSSource;
  /** The name of this host, as in its Node. */
  readonly hostname: string;
  /** Program and version, for the server's log. */
  readonly info: string;
  readonly syncer: SyncerType;
  readonly callbacks: SyncClientCallbacks;
  readonly clock: Clock;
  /** Numbers in [0, 1): order of servers, jitter, the client's id. */
  readonly random: () => number;
  readonly logger?: Logger;
  /** Servers on this node come first. */
  readonly nodeName?: string;
  /**
   * Longest silence of a server; three times the time between its pings where that, as its welcome says, is longer.
   * Default 30,000.
   */
  readonly readTimeoutMs?: number;
  /** Longest time for one of our messages to leave. Default 10,000. */
  readonly writeTimeoutMs?: number;
  /** For connecting, TLS and the upgrade together. Default 10,000. */
  readonly dialTimeoutMs?: number;
  /** Least time between two acks; one that comes earlier waits. Default 100. */
  readonly ackIntervalMs?: number;
  /** From one dial to the next, while no server answers. Default 1,000. */
  readonly dialStaggerMs?: number;
  /** First and longest delay once all known servers failed. Default 500 and 30,000, half of it random. */
  readonly backoffInitialMs?: number;
  readonly backoffMaxMs?: number;
  /** A stream that lived this long makes the delays start anew. Default 10,000. */
  readonly stableAfterMs?: number;
  /** Keys that may wait for the callbacks before the socket is paused. Default 50,000. */
  readonly maxPendingUpdates?: number;
  /** A stale server is left for a better one within this time, at random, so that its clients do not arrive together. Default 60,000. */
  readonly staleLeaveMs?: number;
  /** Called after each change of `phase`. */
  readonly onStateChange?: (state: SyncClientState) => void;
}

/**
 * ```
 *  stopped -> connecting -> handshake -> snapshot -> streaming
 *                ^  |           |  \________|____^       |      (resumed: no snapshot)
 *                |  v           v           v            v
 *                waiting  <------------- lost ------------
 * ```
 * A move to another server goes from streaming to snapshot or streaming: the old server is left when the new one has
 * taken the client.
 */
export type SyncClientPhase = "stopped" | "waiting" | "connecting" | "handshake" | "snapshot" | "streaming";

/** Where the client stands: a copy, which does not change. */
export interface SyncClientState {
  readonly phase: SyncClientPhase;
  /** The server of this connection, or of the attempt under way. */
  readonly server: ServerAddress | undefined;
  /** How that server calls itself; known from its welcome on. */
  readonly serverName: string | undefined;
  /** The status that was handed over last. It does not change when a connection is lost. */
  readonly status: SyncStatus;
  /** The server's own sequence that was received last. */
  readonly serverSequence: number | undefined;
  /** Age of the server's upstream watch, as of its last ping. */
  readonly upstreamAgeMs: number | undefined;
  /** Unix ms of its datastore's last answer, while the server that is followed counts itself as stale. */
  readonly staleSinceMs: number | undefined;
  /** Unix ms; undefined before the first one. */
  readonly lastMessageAtMs: number | undefined;
  /** Why the last attempt or connection failed. */
  readonly lastError: { readonly code: string; readonly message: string; readonly atMs: number } | undefined;
  readonly counts: SyncClientCounts;
}

/** Counts since the start of the process. */
export interface SyncClientCounts {
  readonly connects: number;
  /** Welcomes by what followed: everything, the buckets that differ, only what came after. */
  readonly snapshots: number;
  readonly bucketResumes: number;
  readonly resumes: number;
  /** From one server to another without a gap. */
  readonly moves: number;
  readonly failures: number;
  readonly receivedKVs: number;
  readonly deliveredUpdates: number;
  /** Received, but equal to what the callbacks have. */
  readonly suppressedUpdates: number;
  readonly badKeys: number;
  /** Keys removed at in-sync because a snapshot did not have them. */
  readonly madeUpDeletes: number;
}

/** What the owner of a client has already. */
export interface HeldState {
  readonly kvs: Iterable<{ readonly path: string; readonly value: unknown; readonly revision: string }>;
  /** Unix ms at which a server last said so. */
  readonly atMs: number;
}

/** A client of the sync protocol: one connection at a time, made again for as long as it runs. The caller stops it. */
export interface SyncClient {
  /**
   * As if all of this had been handed over: servers are asked for what differs, and what they do not have is deleted
   * when they are in sync. Only before `start`.
   */
  hold(held: HeldState): void;
  /** Begins to connect. Once only. */
  start(): void;
  /** Closes the connection. Resolves when the last callback has returned; none comes after that. */
  stop(): Promise<void>;
  /** Cheap: may be read for each page of metrics. */
  state(): SyncClientState;
  /** What was handed over up to `sequence` is applied. Numbers lower than an earlier one do nothing. */
  ack(sequence: number): void;
}
