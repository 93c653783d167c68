import type { ResponseHeader } from "./client/messages.ts";

/**
 * A place in the history of a cluster. Two clusters count on their own: one that was restored from a snapshot, behind
 * the same endpoints, may be at a higher revision that has nothing to do with a lower one from before.
 */
export interface Place {
  readonly revision: number;
  /** Undefined: of whichever cluster is asked. */
  readonly clusterId: bigint | undefined;
}

/** Where a response stands, as text: `1234@cdf818194e3a8c32`. */
export function formatRevision(revision: number, header: ResponseHeader | undefined): string {
  return header === undefined ? String(revision) : `${revision}@${header.cluster_id.toString(16)}`;
}

/** Reads what {@link formatRevision} made; a number alone is fine. Revision 0 ("", "0", anything else): none. */
export function parseRevision(text: string): Place {
  const [, revision = "0", cluster] = /^(\d+)(?:@([0-9a-f]+))?$/.exec(text) ?? [];
  return { revision: Number(revision), clusterId: cluster === undefined ? undefined : BigInt(`0x${cluster}`) };
}
