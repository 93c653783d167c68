import type { DriftKind } from "../status.ts";

/** One object that the kernel has other than it is meant to be. */
export interface DriftItem {
  /** `table`: a whole table is gone, with all that was in it. */
  readonly kind: DriftKind | "table";
  /** "ip filter-cali-FORWARD", "10.65.0.2/32", "10.65.0.2 on cali1", "net/ipv4/ip_forward". */
  readonly name: string;
  /** `missing` in the kernel, `unknown` to us, or there and `changed`. */
  readonly what: "missing" | "unknown" | "changed";
  /** For people: "2 elements missing, 1 unknown". May be empty. */
  readonly detail: string;
}

/** One repair of what others had changed. */
export interface DriftRepair {
  /** Unix ms. */
  readonly atMs: number;
  /** Who changed nf_tables, as the kernel names them: "nft (1234)". "" where that is not known. */
  readonly by: string;
  /** At most 200. */
  readonly items: readonly DriftItem[];
  /** Items that are left out of `items`. */
  readonly more: number;
}

/** How the kernel stands against what is meant. Plain data that survives structured cloning. */
export interface DriftReport {
  /** False before the first apply: there is nothing yet to compare with. */
  readonly ready: boolean;
  /** True while changes of our own are on their way to the kernel: what they touch shows as a difference. */
  readonly pending: boolean;
  readonly differences: readonly DriftItem[];
  /** Differences that are left out. */
  readonly more: number;
  /** What could not be read, in words. */
  readonly problems: readonly string[];
  /** The last repairs, oldest first. */
  readonly repairs: readonly DriftRepair[];
}

/** Items of one report or repair. */
export const MAX_DRIFT_ITEMS = 200;
