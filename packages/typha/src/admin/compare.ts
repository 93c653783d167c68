import { hashValue } from "@bulrush/proto";
import type { SyncStatus } from "@bulrush/model";
import type { SnapshotCache } from "../cache/snapshot-cache.ts";

/** KVs in one question. */
export const MAX_COMPARED = 10_000;

/** POST /api/v1/compare: does a stream hold this? */
export interface CompareQuestion {
  readonly syncer: string;
  /** `hash`: of the KV, in base64 (`hashValue` of the protocol); null: the key should not exist. */
  readonly kvs: readonly { readonly path: string; readonly hash: string | null }[];
}

/** The answer, as of one sequence: a client that has applied it has all that does not differ. */
export interface CompareAnswer {
  readonly epoch: string;
  readonly sequence: number;
  readonly status: SyncStatus;
  /** Paths whose KV is another one, is missing, or should be. */
  readonly differing: readonly string[];
}

/** undefined where the body is no question. */
export function parseCompareQuestion(body: unknown): CompareQuestion | undefined {
  if (typeof body !== "object" || body === null || !("syncer" in body) || !("kvs" in body)) return undefined;
  const { syncer, kvs } = body;
  if (typeof syncer !== "string" || !Array.isArray(kvs) || kvs.length > MAX_COMPARED) return undefined;
  return kvs.every(isCompared) ? { syncer, kvs } : undefined;
}

function isCompared(kv: unknown): kv is CompareQuestion["kvs"][number] {
  if (typeof kv !== "object" || kv === null || !("path" in kv) || !("hash" in kv)) return false;
  return typeof kv.path === "string" && (kv.hash === null || typeof kv.hash === "string");
}

export function compareWith(cache: SnapshotCache, { kvs }: CompareQuestion): CompareAnswer {
  const differing = kvs
    .filter(({ path, hash }) => {
      const held = cache.get(path);
      const heldHash =
        held === undefined ? null : Buffer.from(hashValue(path, held.value), "latin1").toString("base64");
      return heldHash !== hash;
    })
    .map(({ path }) => path);
  const { sequence, status } = cache.head;
  return { epoch: cache.epoch, sequence, status, differing };
}
