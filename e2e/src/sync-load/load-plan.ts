import type { SyncerType } from "@bulrush/proto";
import type { ServerAddress, TLSParameters } from "@bulrush/sync-client";

/** Ways in which a client can be a burden. */
export const BAD_WAYS = ["slow-reader", "black-hole", "garbage", "half-open", "flood"] as const;
export type BadWay = (typeof BAD_WAYS)[number];

/** What is held against the servers; of one process, or of all. */
export interface LoadPlan {
  readonly servers: readonly ServerAddress[];
  readonly tls: TLSParameters;
  readonly syncer: SyncerType;
  /** Every client's host name begins with it. */
  readonly namePrefix: string;
  /** Clients that find frames and count, but keep nothing. */
  readonly light: number;
  /** Clients as agents have them, which keep everything and are compared. */
  readonly judged: number;
  readonly bad: Readonly<Record<BadWay, number>>;
  /** Light clients that drop their connections together, and dial again at once. */
  readonly storm: number;
  readonly stormEveryMs: number;
  /** Light clients come back with nothing, and are sent a snapshot. */
  readonly isCold: boolean;
  /** New connections a second; 0: all at once. */
  readonly dialRate: number;
  /** From one report of what is applied to the next; 0: none. */
  readonly ackEveryMs: number;
  readonly slowBytesPerSecond: number;
  /** Of judged clients. Default: their own. */
  readonly dialTimeoutMs?: number;
}

/** Nobody but judged clients, who dial 100 a second. */
export function judgedPlan(parts: Pick<LoadPlan, "servers" | "tls" | "judged">): LoadPlan {
  return {
    ...parts,
    syncer: "felix",
    namePrefix: "judged",
    light: 0,
    bad: { "slow-reader": 0, "black-hole": 0, garbage: 0, "half-open": 0, flood: 0 },
    storm: 0,
    stormEveryMs: 0,
    isCold: false,
    dialRate: 100,
    ackEveryMs: 0,
    slowBytesPerSecond: 1,
  };
}

/** Shares a plan out among processes: no two differ by more than one client of a sort. */
export function splitPlan(plan: LoadPlan, processes: number): readonly LoadPlan[] {
  const share = (count: number, index: number): number =>
    Math.floor(((index + 1) * count) / processes) - Math.floor((index * count) / processes);
  return Array.from({ length: processes }, (_, index) => ({
    ...plan,
    namePrefix: `${plan.namePrefix}-${index}`,
    light: share(plan.light, index),
    judged: share(plan.judged, index),
    storm: share(plan.storm, index),
    dialRate: plan.dialRate / processes,
    bad: Object.fromEntries(BAD_WAYS.map((way) => [way, share(plan.bad[way], index)])) as Record<BadWay, number>,
  }));
}
