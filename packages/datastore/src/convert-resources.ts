import type { Resource, Update } from "@bulrush/model";
import type { Problem } from "./problem.ts";

export interface ConvertOptions {
  /** Make IPAM blocks from Node pod CIDRs. Default false. */
  readonly usePodCIDR?: boolean;
}

export interface Converted {
  /** What the felix syncer sends for these resources, sorted by path; every `type` is "new". */
  readonly updates: readonly Update[];
  /** What was unreadable, and what stands in its place. */
  readonly problems: readonly Problem[];
}

/**
 * Resources (Calico and Kubernetes, defaults applied) to the KVs that the felix syncer makes of them, in one go. Adds
 * what every datastore has: the three tiers, the allow profile, and ClusterInformation where there is none.
 */
export function convertResources(_resources: Iterable<Resource>, _options: ConvertOptions = {}): Converted {
  return { updates: [], problems: [] };
}
