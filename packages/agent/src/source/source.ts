import type { SyncerCallbacks, Update } from "@bulrush/model";

/** What an earlier life of the agent had, of which the callbacks' owner knows. */
export interface Held {
  /** Each key once, none deleted. */
  readonly updates: readonly Update[];
  /** Unix ms at which a source last said so. */
  readonly atMs: number;
}

/** What a source calls, one call at a time; a returned promise is waited for. */
export interface SourceCallbacks extends SyncerCallbacks {
  /** Everything up to this place of the stream was handed over. Places grow; only some sources have them. */
  onSequence(sequence: number): void | Promise<void>;
}

/** How the source stands, for health and metrics. */
export interface SourceReport {
  /** True when changes of the datastore would reach us now. */
  readonly connected: boolean;
  /** A sentence start without a full stop: "following typha-2 (10.0.0.7:5473)". */
  readonly detail: string;
}

/**
 * Where the agent's KVs come from: a Typha, or a datastore read directly. It never gives up and never ends by itself;
 * while it is cut off it says so and sends nothing.
 */
export interface Source {
  /** Begins; once only. What is held is not told again, and what of it the source does not have is deleted at in-sync. */
  start(held?: Held): void | Promise<void>;
  /** Resolves after the last callback. Sends no deletes. */
  stop(): Promise<void>;
  /** What was handed over up to this place is in the kernel. */
  ack(sequence: number): void;
  /** Cheap: read for each page of metrics. */
  report(): SourceReport;
}

/** The callbacks are the caller's; the source calls them only between `start` and `stop`. */
export type SourceFactory = (callbacks: SourceCallbacks) => Source;
