import { randomUUID } from "node:crypto";
import { systemClock } from "@bulrush/base";
import {
  applyResource,
  type DatastoreWriter,
  ensureInitialized,
  openDatastore,
  openDatastoreWriter,
  resourceIdOf,
} from "@bulrush/datastore";
import { TcpProxy } from "../etcd-driver/tcp-proxy.ts";
import { EtcdServer } from "../kube/etcd-server.ts";
import type { FleetStore, StoreLink } from "./fleet-store.ts";
import { networkSet } from "./network-set.ts";

/** A write that is not done by then has failed. */
const WRITE_MS = 120_000;
const AT_ONCE = 32;

/**
 * Network sets in a real etcd, which each server reads through a proxy of its own.
 *
 * ```
 *   here --writes--> etcd <--TcpProxy-- Typha 0
 *                      ^ <---TcpProxy-- Typha 1 ...     cut: packets are swallowed, and nobody is told
 * ```
 * Invariant: `#names` are those that are there, or are being written; one that is being deleted is not among them.
 */
export class EtcdSets implements FleetStore {
  readonly #server: EtcdServer;
  readonly #writer: DatastoreWriter;
  readonly #names = new Set<string>();

  private constructor(server: EtcdServer, writer: DatastoreWriter) {
    this.#server = server;
    this.#writer = writer;
  }

  static async start(): Promise<EtcdSets> {
    const server = await EtcdServer.start();
    const clock = systemClock({ keepAlive: true });
    const writer = await openDatastoreWriter({ type: "etcdv3", endpoints: [server.endpoint] }, { clock });
    const newGuid = (): string => randomUUID().replaceAll("-", "");
    const signal = AbortSignal.timeout(WRITE_MS);
    await ensureInitialized(writer, { version: "", clusterType: "typha", clock, signal, newGuid });
    return new EtcdSets(server, writer);
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** `version` makes the contents. */
  async set(name: string, version: number): Promise<void> {
    this.#names.add(name);
    await applyResource(this.#writer, networkSet(name, version), AbortSignal.timeout(WRITE_MS));
  }

  async delete(name: string): Promise<void> {
    this.#names.delete(name);
    await this.#writer.delete(resourceIdOf(networkSet(name, 0)), undefined, AbortSignal.timeout(WRITE_MS));
  }

  /** A proxy to etcd, which may be cut and mended. */
  proxy(): Promise<TcpProxy> {
    return TcpProxy.start(this.#server.port);
  }

  async link(): Promise<StoreLink> {
    const proxy = await this.proxy();
    return {
      open: () =>
        openDatastore({ type: "etcdv3", endpoints: [proxy.endpoint] }, { clock: systemClock({ keepAlive: true }) }),
      cut: () => proxy.blackHole(),
      mend: () => proxy.mend(),
      close: () => proxy.stop(),
    };
  }

  async stop(): Promise<void> {
    await this.#writer.close();
    await this.#server.stop();
  }
}

/** Runs so many writes, some at a time. */
export async function writeMany(count: number, write: (index: number) => Promise<void>): Promise<void> {
  for (let i = 0; i < count; i += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - i) }, (_, j) => write(i + j)));
}
