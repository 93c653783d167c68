import type { Resource } from "@bulrush/model";
import {
  type DatastoreDriver,
  DatastoreError,
  type Item,
  type ListPage,
  type ListRequest,
  type Problem,
  type WatchEvent,
  type WatchRequest,
  type WatchStream,
} from "@bulrush/datastore";
import type { FleetStore, StoreLink } from "./fleet-store.ts";

/** A watch on the store. What is cut off hears nothing, as behind a network that drops everything. */
class MemoryStream implements WatchStream {
  readonly #queue: (readonly WatchEvent[] | undefined)[] = [];
  #wake: () => void = () => {};

  push(events: readonly WatchEvent[] | undefined): void {
    this.#queue.push(events);
    this.#wake();
  }

  async next(): Promise<readonly WatchEvent[] | undefined> {
    while (this.#queue.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#queue.shift();
  }

  close(): void {
    this.push(undefined);
  }
}

interface OpenStream {
  readonly stream: MemoryStream;
  readonly kind: string;
  readonly isCut: () => boolean;
}

/** Network sets in memory, for many servers. Everything else of a datastore is there and empty. */
export class MemoryStore implements FleetStore {
  readonly #items = new Map<string, Item>();
  readonly #streams = new Set<OpenStream>();
  #revision = 1;

  has(name: string): boolean {
    return this.#items.has(name);
  }

  /** `version` makes the contents. */
  set(name: string, version: number): void {
    const isNew = !this.#items.has(name);
    const revision = String(++this.#revision);
    const value = {
      apiVersion: "projectcalico.org/v3",
      kind: "GlobalNetworkSet",
      metadata: { name, labels: { set: name, version: `v${version}`, team: `team-${name.length}` } },
      spec: { nets: [`10.${version & 255}.0.0/16`, `10.${(version + 1) & 255}.7.0/24`] },
    } as unknown as Resource;
    const item: Item = { kind: "GlobalNetworkSet", namespace: "", name, revision, value };
    this.#items.set(name, item);
    this.#tell({ type: isNew ? "added" : "modified", item });
  }

  /** Tells every watch that all is well, as an API server does now and then. */
  beat(): void {
    const bookmark = { type: "bookmark", revision: String(this.#revision) } as const;
    for (const { stream, isCut } of this.#streams) if (!isCut()) stream.push([bookmark]);
  }

  delete(name: string): void {
    const item = this.#items.get(name);
    if (item === undefined) return;
    this.#items.delete(name);
    this.#tell({ type: "deleted", item, revision: String(++this.#revision) });
  }

  link(): Promise<StoreLink> {
    let isCut = false;
    const open = new Set<MemoryStream>();
    const unreachable = (): DatastoreError =>
      new DatastoreError("The store cannot be reached", { code: "DATASTORE_FAILED" });
    const list = (request: ListRequest): ListPage => {
      if (isCut) throw unreachable();
      const items = request.kind === "GlobalNetworkSet" ? [...this.#items.values()] : [];
      return { items, revision: String(this.#revision) };
    };
    const driver: DatastoreDriver = {
      type: "etcdv3",
      usePodCIDR: true,
      list: async function* (request) {
        await Promise.resolve();
        yield list(request);
      },
      watch: (request: WatchRequest) => {
        if (isCut) return Promise.reject(unreachable());
        const stream = new MemoryStream();
        open.add(stream);
        const entry = { stream, kind: request.kind, isCut: () => isCut };
        this.#streams.add(entry);
        request.signal.addEventListener("abort", () => {
          this.#streams.delete(entry);
          open.delete(stream);
          stream.close();
        });
        return Promise.resolve(stream);
      },
      probe: () => (isCut ? Promise.reject(unreachable()) : Promise.resolve()),
      problems: (): readonly Problem[] => [],
      close: () => Promise.resolve(),
    };
    return Promise.resolve({
      open: () => Promise.resolve(driver),
      close: () => {},
      cut: () => (isCut = true),
      mend: () => {
        isCut = false;
        const error = new DatastoreError("The watch was lost", { code: "DATASTORE_EXPIRED" });
        for (const stream of open) stream.push([{ type: "error", error }]);
        open.clear();
      },
    });
  }

  #tell(event: WatchEvent): void {
    for (const { stream, kind, isCut } of this.#streams)
      if (kind === "GlobalNetworkSet" && !isCut()) stream.push([event]);
  }
}
