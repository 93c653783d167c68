import { status } from "@grpc/grpc-js";
import { DatastoreError } from "../errors.ts";
import type { EtcdClient } from "./client/etcd-client.ts";
import type { KeyValue, RangeResponse, ResponseHeader } from "./client/messages.ts";
import { RANGE } from "./client/methods.ts";
import { statusOf } from "./client/rpc-error.ts";
import type { KeyRange } from "./key-layout.ts";

const DEFAULT_PAGE_ITEMS = 500;

export interface RangePage {
  readonly entries: readonly KeyValue[];
  /** Cluster and revision of what is read, the same on all pages. */
  readonly header: ResponseHeader;
}

export interface RangePagesOptions {
  readonly signal: AbortSignal;
  /** Entries of a page. Default 500. */
  readonly pageItems?: number | undefined;
}

/**
 * All entries of a range as they were when the first page was read, at least one page. Pages that are too big for one
 * message are asked for again, with fewer entries.
 *
 * @throws DatastoreError DATASTORE_EXPIRED if that state was compacted away meanwhile, or is of another cluster.
 */
export async function* rangePages(
  client: EtcdClient,
  { key, end }: KeyRange,
  { signal, pageItems = DEFAULT_PAGE_ITEMS }: RangePagesOptions,
): AsyncGenerator<RangePage, void, undefined> {
  const range_end = end === undefined ? undefined : Buffer.from(end);
  let from: Buffer = Buffer.from(key);
  let first: ResponseHeader | undefined;
  let limit = pageItems;
  for (;;) {
    let response: RangeResponse;
    try {
      response = await client.call(RANGE, { key: from, range_end, limit, revision: first?.revision }, signal);
    } catch (error) {
      if (limit === 1 || !isTooBig(error)) throw error;
      limit = Math.ceil(limit / 2);
      continue;
    }
    const { header } = response;
    if (header === undefined) throw new DatastoreError("etcd sent no header", { code: "DATASTORE_MALFORMED" });
    first ??= header;
    if (header.cluster_id !== first.cluster_id)
      throw new DatastoreError("The rest of a list would be of another etcd cluster", { code: "DATASTORE_EXPIRED" });
    yield { entries: response.kvs, header: first };
    const last = response.kvs.at(-1);
    if (!response.more || last === undefined) return;
    // The next key that there can be.
    from = Buffer.concat([last.key, Buffer.from([0])]);
  }
}

/** gRPC itself refused the answer. */
function isTooBig(error: unknown): boolean {
  const { cause } = error as { readonly cause?: unknown };
  return statusOf(cause) === status.RESOURCE_EXHAUSTED && /larger than max/.test((cause as Error).message);
}
