import type { SyncStatus } from "@bulrush/model";
import type { SyncerType, Welcome } from "@bulrush/proto";
import type { PropagationView } from "../server/propagation.ts";
import type { LimitReason } from "../limit/connection-limit.ts";

/** GET /api/v1/clients: one entry per stream, oldest first. Times are ISO 8601, ages and lags milliseconds. */
export interface ClientsView {
  readonly clients: readonly ClientView[];
}

/** One stream to one client. */
export interface ClientView {
  /** As in the welcome, and in both sides' logs. */
  readonly connectionId: string;
  readonly hostname: string;
  readonly syncer: SyncerType;
  /** Program and version, as the client says. */
  readonly info: string;
  /** The same over the reconnects of one process. */
  readonly clientId: string;
  /** Address and port. */
  readonly peer: string;
  readonly connectedAt: string;
  /** What the stream began with: changes alone, some buckets, or everything; null before the welcome. */
  readonly begunWith: Welcome["resume"] | null;
  /** It has not got all of its snapshot yet. */
  readonly inSnapshot: boolean;
  /** The newest sequence of the server. */
  readonly serverSequence: number;
  /** The last sequence that was handed to the client's socket. */
  readonly sentSequence: number;
  /** The last sequence that the client reported as in force; null before its first report. */
  readonly appliedSequence: number | null;
  /** Age of the oldest change that the client's socket does not have. */
  readonly lagMs: number;
  readonly bytesSent: number;
  /** Another live client has the same node name. */
  readonly duplicate: boolean;
}

/** GET /api/v1/caches: one entry per stream that is served. */
export interface CachesView {
  readonly caches: readonly CacheView[];
}

/**
 * One stream, as of the moment. Counts are since the start of the process; `flushWindowMs` is how long changes are
 * gathered.
 */
export interface CacheView {
  readonly syncer: SyncerType;
  /** As in the welcome: another one after a restart. */
  readonly epoch: string;
  readonly sequence: number;
  readonly status: SyncStatus;
  readonly keys: number;
  /** When the newest breadcrumb was made. */
  readonly changedAt: string;
  /** Since the source's last sign of life, of its oldest kind. */
  readonly upstreamAgeMs: number;
  /** How long changes are gathered at the moment before they go out together. */
  readonly flushWindowMs: number;
  /** The history that clients may resume from. */
  readonly retained: { readonly breadcrumbs: number; readonly oldestSequence: number; readonly bytes: number };
  /** Since the start; `skipped` would have changed nothing, and went to nobody. */
  readonly updates: number;
  readonly skipped: number;
  /** Since the start; `snapshotsReused` counts those that were handed out again. */
  readonly snapshotsGenerated: number;
  readonly snapshotsReused: number;
  /** How long changes took to be in force at clients. */
  readonly propagation: PropagationView;
  /** What the source says about each kind. */
  readonly kinds: readonly KindView[];
}

/** What the source says of one kind. */
export interface KindView {
  readonly kind: string;
  readonly status: SyncStatus;
  /** Why the kind is not in order, the code of its last error, and since when; null while it is. */
  readonly reason: string | null;
  readonly code: string | null;
  readonly since: string | null;
  /** Stored objects that cannot be used as they are written. */
  readonly unusable: number;
  readonly upstreamAgeMs: number | null;
  /** Sent and alive. */
  readonly keys: number;
}

/** The connection limit and its inputs. */
export interface BalanceView {
  readonly limit: number;
  readonly reason: LimitReason;
  /** Ready servers of the Service; null: they cannot be counted, and `problem` says why. */
  readonly typhas: number | null;
  readonly nodes: number | null;
  readonly problem: string | null;
  /** What the limit is worked out with, beside the counts. */
  readonly settings: {
    readonly lower: number;
    readonly upper: number;
    readonly syncerTypes: number;
    readonly basis: "formula" | "observed";
    readonly levelling: boolean;
  };
  /** The other servers, and what they last said: null for one that does not answer. */
  readonly peers: readonly {
    readonly address: string;
    readonly streams: number | null;
    readonly limit: number | null;
    readonly takesClients: boolean;
  }[];
}

/** GET /api/v1/status. */
export interface StatusView {
  readonly name: string;
  readonly version: string;
  readonly startedAt: string;
  /** "draining": it hands its clients over, and takes no more. */
  readonly state: "starting" | "running" | "draining";
  readonly ready: boolean;
  readonly live: boolean;
  /** The table of the health server, in words. */
  readonly health: string;
  /** `limit`: more are rejected. */
  readonly connections: { readonly open: number; readonly streaming: number; readonly limit: number };
  /** The limit above which streams are handed over, and what it was worked out from; null where it is not. */
  readonly balance: BalanceView | null;
  /** What is wrong with the stored data at the moment, one line each. */
  readonly problems: readonly string[];
}
