import type { DatastoreContext } from "../driver/context.ts";
import { DatastoreError } from "../errors.ts";
import type { StatusStore } from "../status-store.ts";
import { EtcdClient } from "./client/etcd-client.ts";
import type { RequestOp } from "./client/messages.ts";
import { LEASE_GRANT, TXN } from "./client/methods.ts";
import { checkedEtcdConfig, type EtcdDatastoreConfig } from "./etcd-config.ts";
import { rangePages } from "./range-pages.ts";

/** Statuses as keys of their own in etcd. Nothing is asked for before the first call. */
export class EtcdStatusStore implements StatusStore {
  readonly #client: EtcdClient;

  /** @throws DatastoreError DATASTORE_BAD_CONFIG. */
  constructor(config: EtcdDatastoreConfig, { clock, logger, random = Math.random }: DatastoreContext) {
    this.#client = new EtcdClient({ config: checkedEtcdConfig(config), clock, logger, start: random() });
  }

  async put(key: string, value: string, signal: AbortSignal, ttlSeconds?: number): Promise<void> {
    const lease = ttlSeconds === undefined ? undefined : await this.#lease(ttlSeconds, signal);
    await this.#write({ request_put: { key: Buffer.from(key), value: Buffer.from(value), lease } }, signal);
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    await this.#write({ request_delete_range: { key: Buffer.from(key) } }, signal);
  }

  async list(prefix: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    // "0" is the character after "/".
    const range = { key: prefix, end: `${prefix.slice(0, -1)}0` };
    for await (const { entries } of rangePages(this.#client, range, { signal }))
      for (const { key, value } of entries) found.set(key.toString("utf8"), value.toString("utf8"));
    return found;
  }

  close(): Promise<void> {
    this.#client.close();
    return Promise.resolve();
  }

  async #lease(ttlSeconds: number, signal: AbortSignal): Promise<bigint> {
    const { ID, error } = await this.#client.call(LEASE_GRANT, { TTL: Math.ceil(ttlSeconds) }, signal);
    if (error === "") return ID;
    throw new DatastoreError(`Get a lease: ${error}`, { code: "DATASTORE_FAILED", op: "Get a lease" });
  }

  async #write(request: RequestOp, signal: AbortSignal): Promise<void> {
    await this.#client.call(TXN, { compare: [], success: [request], failure: [] }, signal);
  }
}
