import type { Clock } from "@bulrush/base";
import type {
  DatastoreDriver,
  Item,
  ListPage,
  ListRequest,
  WatchEvent,
  WatchRequest,
  WatchStream,
} from "../driver/driver.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import { DatastoreError } from "../errors.ts";
import { Pacer } from "../kubernetes/driver/pacer.ts";
import { SkippedObjects } from "../driver/skipped-objects.ts";
import { Slots } from "../driver/slots.ts";
import { ALLOW_PROFILE } from "../driver/allow-profile.ts";
import type { DatastoreContext } from "../driver/context.ts";
import type { Problem } from "../problem.ts";
import { EtcdClient } from "./client/etcd-client.ts";
import { type Event, EVENT_DELETE, type KeyValue, type ResponseHeader } from "./client/messages.ts";
import { RANGE } from "./client/methods.ts";
import { checkedEtcdConfig, type EtcdDatastoreConfig } from "./etcd-config.ts";
import { EtcdWatch } from "./etcd-watch.ts";
import { type KeyRange, placeOf, rangeOf } from "./key-layout.ts";
import { rangePages } from "./range-pages.ts";
import { readItem } from "./read-item.ts";
import { formatRevision, parseRevision, type Place } from "./revision.ts";

const DEFAULT_WATCH_IDLE_MS = 30_000;
const DEFAULT_WATCH_ANSWER_TIMEOUT_MS = 10_000;

/**
 * Calico's keys in etcd as a datastore.
 *
 *     list:  pages of one revision, the newest there is ─> entries ─> items
 *     watch: one stream a kind, from the revision after the list's ─> events, and bookmarks while nothing happens
 *
 * Nothing is cached: an item is the reader's.
 */
export class EtcdDriver implements DatastoreDriver {
  readonly type = "etcdv3";
  readonly usePodCIDR: boolean;
  readonly #config: EtcdDatastoreConfig;
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #pacers = new Map<DatastoreKind, Pacer>();
  /** Full lists run one at a time, so that a start does not ask for everything at once. */
  readonly #slots = new Slots(1);
  readonly #skipped: SkippedObjects;

  /** @throws DatastoreError DATASTORE_BAD_CONFIG. Nothing is asked for yet. */
  constructor(config: EtcdDatastoreConfig, context: DatastoreContext) {
    this.#config = checkedEtcdConfig(config);
    this.usePodCIDR = config.usePodCIDR ?? false;
    this.#clock = context.clock;
    this.#random = context.random ?? Math.random;
    const { clock, logger } = context;
    this.#client = new EtcdClient({ config, clock, logger, start: this.#random() });
    this.#skipped = new SkippedObjects(() => context.onProblems?.(this.problems()));
  }

  async *list(request: ListRequest): AsyncIterable<ListPage> {
    const { kind, signal, name, namespace } = request;
    const { pageItems } = this.#config;
    const range = this.#rangeOf(request);
    const pacer = this.#pacerOf(kind);
    await pacer.wait(signal);
    const release = name === undefined ? await this.#slots.acquire(signal) : undefined;
    this.#skipped.startList(kind);
    try {
      let revision = "";
      for await (const { entries, header } of rangePages(this.#client, range, { signal, pageItems })) {
        checkReached(parseRevision(request.revision), header);
        revision = formatRevision(header.revision, header);
        const items: Item[] = [];
        for (const entry of entries) {
          const item = this.#itemOf(kind, entry);
          if (item !== undefined && isWanted(item, request)) items.push(item);
        }
        yield { items, revision };
      }
      if (kind === "Profile" && name === undefined && namespace === undefined)
        yield { items: [ALLOW_PROFILE], revision };
      pacer.succeeded();
    } catch (error) {
      if (!signal.aborted) pacer.failed(error);
      throw error;
    } finally {
      release?.();
    }
  }

  async watch(request: WatchRequest): Promise<WatchStream> {
    const { kind, signal } = request;
    const range = this.#rangeOf(request);
    const pacer = this.#pacerOf(kind);
    await pacer.wait(signal);
    const first: (readonly Item[])[] = [];
    let { revision } = request;
    if (parseRevision(revision).revision === 0) {
      for await (const page of this.list(request)) {
        if (page.items.length > 0) first.push(page.items);
        revision = page.revision;
      }
    }
    const { watchIdleMs: idleMs = DEFAULT_WATCH_IDLE_MS } = this.#config;
    const { watchAnswerTimeoutMs: answerTimeoutMs = DEFAULT_WATCH_ANSWER_TIMEOUT_MS } = this.#config;
    const from = parseRevision(revision);
    try {
      const watch = await EtcdWatch.open({
        client: this.#client,
        clock: this.#clock,
        range,
        request: { ...request, revision },
        idleMs,
        answerTimeoutMs,
        from,
        read: (event, place) => this.#eventOf(event, place, request),
        first,
      });
      await this.#checkWatch(watch, from, range, signal);
      pacer.succeeded();
      return watch;
    } catch (error) {
      if (!signal.aborted) pacer.failed(error);
      throw error;
    }
  }

  /** Reads at most one key, by way of the cluster's leader. */
  async probe(kind: DatastoreKind, signal: AbortSignal): Promise<void> {
    const range = rangeOf(kind);
    if (range !== undefined) await this.#headerNow(range, signal);
  }

  problems(): readonly Problem[] {
    return this.#skipped.list();
  }

  close(): Promise<void> {
    this.#client.close();
    return Promise.resolve();
  }

  /**
   * A watch from a revision that is still to come is silent until then. A member may lag behind, but where all of the
   * cluster has not come so far, the revision is of another history: it was restored from an older state.
   */
  async #checkWatch(watch: EtcdWatch, from: Place, range: KeyRange, signal: AbortSignal): Promise<void> {
    if (watch.serverRevision >= from.revision) return;
    try {
      checkReached(from, await this.#headerNow(range, signal));
    } catch (error) {
      watch.close();
      throw error;
    }
  }

  async #headerNow({ key, end }: KeyRange, signal: AbortSignal): Promise<ResponseHeader | undefined> {
    const range_end = end === undefined ? undefined : Buffer.from(end);
    const request = { key: Buffer.from(key), range_end, limit: 1, keys_only: true };
    return (await this.#client.call(RANGE, request, signal)).header;
  }

  #rangeOf({ kind, namespace, name }: Pick<ListRequest, "kind" | "namespace" | "name">): KeyRange {
    const range = rangeOf(kind, { ...(namespace !== undefined && { namespace }), ...(name !== undefined && { name }) });
    if (range !== undefined) return range;
    throw new DatastoreError(`etcd has no ${kind}`, { code: "DATASTORE_NOT_FOUND", data: { kind } });
  }

  #itemOf(kind: DatastoreKind, entry: KeyValue): Item | undefined {
    const item = readItem(kind, entry);
    if (item === undefined)
      this.#skipped.add(kind, kind, `Not a key of the kind: ${entry.key.toString("utf8").slice(0, 300)}`);
    return item;
  }

  #eventOf({ type, kv }: Event, revision: string, request: WatchRequest): WatchEvent | undefined {
    if (kv === undefined) return undefined;
    const { kind } = request;
    if (type === EVENT_DELETE) {
      const place = placeOf(kind, kv.key.toString("utf8"));
      if (place === undefined || !isWanted(place, request)) return undefined;
      return { type: "deleted", item: { kind, ...place }, revision };
    }
    const item = this.#itemOf(kind, kv);
    if (item === undefined || !isWanted(item, request)) return undefined;
    return { type: kv.create_revision === kv.mod_revision ? "added" : "modified", item, revision };
  }

  #pacerOf(kind: DatastoreKind): Pacer {
    let pacer = this.#pacers.get(kind);
    if (pacer === undefined) this.#pacers.set(kind, (pacer = new Pacer(this.#clock, this.#random)));
    return pacer;
  }
}

/** @throws DatastoreError DATASTORE_REVISION_TOO_LARGE if the cluster of `place` has not come so far. */
function checkReached({ revision, clusterId }: Place, header: ResponseHeader | undefined): void {
  const now = header?.revision ?? 0;
  if (now >= revision || (clusterId !== undefined && clusterId !== header?.cluster_id)) return;
  throw new DatastoreError(`etcd is at revision ${now} and has not reached ${revision}`, {
    code: "DATASTORE_REVISION_TOO_LARGE",
  });
}

function isWanted(
  place: Pick<Item, "namespace" | "name">,
  { name, namespace }: Pick<ListRequest, "name" | "namespace">,
): boolean {
  return (name === undefined || place.name === name) && (namespace === undefined || place.namespace === namespace);
}
