import type { Clock } from "@bulrush/base";
import type { SyncerCallbacks, SyncStatus } from "@bulrush/model";
import type { DatastoreDriver } from "../driver/driver.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import type { DatastoreLogger } from "../logger.ts";
import type { Problem } from "../problem.ts";

export const SYNCER_TYPES = ["felix", "bgp", "tunnel-ip-allocation", "node-status"] as const;

/** The four streams. Each has its own kinds and its own processors. */
export type SyncerType = (typeof SYNCER_TYPES)[number];

export interface SyncerOptions {
  readonly driver: DatastoreDriver;
  readonly clock: Clock;
  readonly callbacks: SyncerCallbacks;
  readonly logger?: DatastoreLogger;
  /** Restricts bgp and tunnel-ip-allocation to one node; absent or "": all. */
  readonly nodeName?: string;
  /** Blocks come from Node pod CIDRs instead of IPAM. Default false. */
  readonly usePodCIDR?: boolean;
  /** Called with the whole list whenever it has changed: what the processors could not read. */
  readonly onProblems?: (problems: readonly Problem[]) => void;
}

/** Where one kind stands, for readiness and metrics. */
export interface KindReport {
  readonly kind: DatastoreKind;
  readonly status: SyncStatus;
  /** Why it is not in sync, or what is amiss though it is ("the API is missing"); absent when all is well. */
  readonly reason?: string;
  /** Since when the reason holds, clock milliseconds. */
  readonly sinceMs?: number;
  /** Time since the server last answered (list, event, bookmark, probe); undefined before the first answer. */
  readonly upstreamAgeMs: number | undefined;
  /** Keys sent and alive. */
  readonly keys: number;
}

export interface Syncer {
  readonly type: SyncerType;
  /** Begins; call once. The first callback is the status wait-for-ready. */
  start(): void;
  /** Stops lists and watches, sends deletes for all that is known, and resolves after the last callback. */
  stop(): Promise<void>;
  /** One entry a kind, in the order of the table. */
  report(): readonly KindReport[];
  /** The oldest answer among the kinds in milliseconds; undefined until each kind has had one. */
  upstreamAgeMs(): number | undefined;
  /** What the processors could not read at the moment. */
  problems(): readonly Problem[];
}

/** A syncer of one of the four types. It does nothing before `start`. */
export function createSyncer(type: SyncerType, _options: SyncerOptions): Syncer {
  return {
    type,
    start: () => undefined,
    stop: () => Promise.resolve(),
    report: () => [],
    upstreamAgeMs: () => undefined,
    problems: () => [],
  };
}

/** `createSyncer("felix", options)`. */
export function felixSyncer(options: SyncerOptions): Syncer {
  return createSyncer("felix", options);
}
