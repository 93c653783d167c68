import { plainValue, type SyncStatus, type Value } from "@bulrush/model";
import { hashValue } from "@bulrush/proto";
import type { SnapshotCache } from "../cache/snapshot-cache.ts";

/** KVs in one question. */
export const MAX_COMPARED = 10_000;

/** One KV that a stream should hold. */
export type ComparedKV =
  /** `hash`: of the KV, in base64 (`hashValue` of the protocol); null: the key should not exist. */
  | { readonly path: string; readonly hash: string | null }
  /** The value has all of these fields, and may have others: for resources, to which a store adds its own. */
  | { readonly path: string; readonly includes: unknown };

/** POST /api/v1/compare: does a stream hold this? */
export interface CompareQuestion {
  readonly syncer: string;
  readonly kvs: readonly ComparedKV[];
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

function isCompared(kv: unknown): kv is ComparedKV {
  if (typeof kv !== "object" || kv === null || !("path" in kv) || typeof kv.path !== "string") return false;
  if ("includes" in kv) return true;
  return "hash" in kv && (kv.hash === null || typeof kv.hash === "string");
}

export function compareWith(cache: SnapshotCache, { kvs }: CompareQuestion): CompareAnswer {
  const differing = kvs.filter((kv) => !isHeld(cache, kv)).map(({ path }) => path);
  const { sequence, status } = cache.head;
  return { epoch: cache.epoch, sequence, status, differing };
}

function isHeld(cache: SnapshotCache, kv: ComparedKV): boolean {
  const held = cache.get(kv.path);
  if ("includes" in kv) return held !== undefined && isPartOf(kv.includes, plainValue(held.value as Value));
  const hash = held === undefined ? null : Buffer.from(hashValue(kv.path, held.value), "latin1").toString("base64");
  return hash === kv.hash;
}

/** Every field of `part` is in `whole`, lists item by item. An empty or null field is as good as none. */
function isPartOf(part: unknown, whole: unknown): boolean {
  if (isEmpty(part)) return isEmpty(whole) || typeof whole === "object";
  if (Array.isArray(part))
    return (
      Array.isArray(whole) && part.length === whole.length && part.every((item, index) => isPartOf(item, whole[index]))
    );
  if (typeof part !== "object" || part === null) return part === whole;
  if (typeof whole !== "object" || whole === null) return false;
  return Object.entries(part).every(([name, field]) =>
    isPartOf(field, (whole as Readonly<Record<string, unknown>>)[name]),
  );
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
