import { status } from "@grpc/grpc-js";
import type { EtcdClient } from "./client/etcd-client.ts";
import type { KeyValue, RangeResponse } from "./client/messages.ts";
import { RANGE } from "./client/methods.ts";
import { statusOf } from "./client/rpc-error.ts";
import type { KeyRange } from "./key-layout.ts";

const DEFAULT_PAGE_ITEMS = 500;

export interface RangePage {
  readonly entries: readonly KeyValue[];
  /** The same on all pages. */
  readonly revision: number;
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
 * @throws DatastoreError DATASTORE_EXPIRED if that state was compacted away meanwhile.
 */
export async function* rangePages(
  client: EtcdClient,
  { key, end }: KeyRange,
  { signal, pageItems = DEFAULT_PAGE_ITEMS }: RangePagesOptions,
): AsyncGenerator<RangePage, void, undefined> {
  const range_end = end === undefined ? undefined : Buffer.from(end);
  let from: Buffer = Buffer.from(key);
  let revision: number | undefined;
  let limit = pageItems;
  for (;;) {
    let response: RangeResponse;
    try {
      response = await client.call(RANGE, { key: from, range_end, limit, revision }, signal);
    } catch (error) {
      if (limit === 1 || !isTooBig(error)) throw error;
      limit = Math.ceil(limit / 2);
      continue;
    }
    revision ??= response.header?.revision ?? 0;
    yield { entries: response.kvs, revision };
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
