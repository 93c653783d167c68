import type { Clock } from "@bulrush/base";
import type { GoodbyeCode, RejectCode, SyncerType } from "@bulrush/proto";
import type { Logger } from "@bulrush/service";
import type { ServedCache } from "../cache/served-cache.ts";
import type { ClientSession } from "./client-session.ts";
import type { LimitedLog } from "./limited-log.ts";
import type { PropagationWindow } from "./propagation.ts";
import type { ServerMetrics } from "./server-metrics.ts";
import type { SyncServerSettings } from "./settings.ts";

/** What goes with a reject or goodbye. */
export interface Advice {
  readonly retryAfterMs: number;
  /** Other servers worth trying, as host:port. */
  readonly peers: readonly string[];
}

/** What a session needs of its server. */
export interface SessionContext {
  readonly clock: Clock;
  readonly logger: Logger;
  /** For what strangers can cause. */
  readonly log: LimitedLog;
  readonly metrics: ServerMetrics;
  readonly settings: SyncServerSettings;
  /** The streams that are served. */
  readonly caches: ReadonlyMap<SyncerType, ServedCache>;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** Runs the callback after everything that waits now: `setImmediate`. */
  readonly defer: (callback: () => void) => void;
  /** Why a client with a good hello is not taken; undefined: it is, and its stream begins at once. */
  admission(session: ClientSession): { readonly code: RejectCode; readonly reason: string } | undefined;
  advice(code: RejectCode | GoodbyeCode): Advice;
  /** The ping of this moment, one frame for all clients of a type. */
  pingFrame(type: SyncerType): Buffer;
  /** True while this server has not read the datastore as far as a client was told of it. */
  isBehind(type: SyncerType, revision: number): boolean;
  /** Unix ms of the last answer of a stream's source, if it is stale. */
  staleSinceMs(type: SyncerType): number | undefined;
  /** Where the propagation times of a type are kept. */
  propagation(type: SyncerType): PropagationWindow;
  onStreaming(session: ClientSession): void;
  onClosed(session: ClientSession): void;
}
