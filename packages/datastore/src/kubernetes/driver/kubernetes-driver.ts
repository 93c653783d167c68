import { type Clock, messageOf } from "@bulrush/base";
import { CALICO_CRD_V1 } from "@bulrush/model";
import type { DatastoreDriver, Item, ListPage, ListRequest, WatchRequest, WatchStream } from "../../driver/driver.ts";
import type { DatastoreKind } from "../../driver/kind.ts";
import { datastoreCodeOf } from "../../errors.ts";
import type { DatastoreLogger } from "../../logger.ts";
import type { ConversionOptions } from "../../manifest/to-item.ts";
import type { DatastoreContext } from "../../driver/context.ts";
import type { Problem } from "../../problem.ts";
import { Discovery } from "../client/discovery.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { openKubeClient } from "../client/open-client.ts";
import type { KubernetesDatastoreConfig } from "../kubernetes-config.ts";
import { ALLOW_PROFILE } from "../../driver/allow-profile.ts";
import { joinRevisions, splitRevision } from "./composite-revision.ts";
import { type Half, type HalfEnd, KubernetesWatch } from "./kubernetes-watch.ts";
import { ListReader } from "./list-reader.ts";
import { opOf, type RawPage } from "./list-source.ts";
import { openWatch } from "./open-watch.ts";
import { Pacer } from "./pacer.ts";
import { readObject } from "./read-object.ts";
import { SkippedObjects } from "../../driver/skipped-objects.ts";
import { Slots } from "../../driver/slots.ts";
import { WatchLength } from "./watch-length.ts";
import { isCalicoKind, pathOf, type Selection, selectionsOf, type Source, sourcesOf } from "./source.ts";

const DEFAULT_WATCH_IDLE_MS = 90_000;

/** One object's metadata is the least that a list can be asked for. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json";

/** What the driver is made of; `KubernetesDriver.open` makes it from settings. */
export interface KubernetesDriverParts {
  readonly client: KubeClient;
  readonly config: KubernetesDatastoreConfig;
  readonly context: DatastoreContext;
}

/**
 * A Kubernetes API server as a datastore: Calico's CRDs and Kubernetes' own kinds, read with get, list and watch.
 *
 *     list:  wait for the pace ─> which group ─> is it there? ─> a slot ─> stream or pages ─> objects ─> items
 *     watch: wait for the pace ─> which group ─────────────────> one watch a source ─> lines ─> objects ─> events
 *
 * A kind may be made from several lists (Profile: namespaces and service accounts); its revision then has a part of
 * each. Full lists run one at a time, so that a start does not ask for everything at once; a watch that is silent for
 * too long is ended, since its connection may be half open. Nothing is cached: an item is the reader's.
 */
export class KubernetesDriver implements DatastoreDriver {
  readonly type = "kubernetes";
  readonly usePodCIDR: boolean;
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #logger: DatastoreLogger | undefined;
  readonly #random: () => number;
  readonly #conversion: ConversionOptions;
  readonly #watchIdleMs: number;
  readonly #watchLength: WatchLength;
  readonly #discovery: Discovery;
  readonly #reader: ListReader;
  readonly #slots: Slots;
  readonly #closed = new AbortController();
  readonly #pacers = new Map<DatastoreKind, Pacer>();
  /** Kinds of which a list has begun to come: from then on "any recent state" may not be older. */
  readonly #listed = new Set<DatastoreKind>();
  readonly #skipped: SkippedObjects;

  constructor({ client, config, context }: KubernetesDriverParts) {
    const { interfacePrefix, listConcurrency = 1, listMode = "auto" } = config;
    this.usePodCIDR = config.usePodCIDR ?? false;
    this.#client = client;
    this.#clock = context.clock;
    this.#logger = context.logger;
    this.#random = context.random ?? Math.random;
    this.#conversion = { usePodCIDR: this.usePodCIDR, ...(interfacePrefix !== undefined && { interfacePrefix }) };
    this.#watchIdleMs = config.watchIdleTimeoutMs ?? DEFAULT_WATCH_IDLE_MS;
    this.#watchLength = new WatchLength(this.#watchIdleMs, this.#random);
    this.#discovery = new Discovery(client, this.#closed.signal, config.apiGroup);
    this.#reader = new ListReader({
      client,
      discovery: this.#discovery,
      logger: context.logger,
      mayStream: listMode === "auto",
    });
    this.#slots = new Slots(listConcurrency);
    this.#skipped = new SkippedObjects(() => context.onProblems?.(this.problems()));
  }

  /** @throws DatastoreError DATASTORE_BAD_CONFIG. The server is asked for nothing yet. */
  static async open(config: KubernetesDatastoreConfig, context: DatastoreContext): Promise<KubernetesDriver> {
    const client = await openKubeClient(config, context.clock);
    return new KubernetesDriver({ client, config, context });
  }

  async *list(request: ListRequest): AsyncIterable<ListPage> {
    const { kind, name, signal } = request;
    const pacer = this.#pacerOf(kind);
    await pacer.wait(signal);
    let release: (() => void) | undefined;
    try {
      const selections = selectionsOf(kind, await this.#sourcesOf(kind, signal), request);
      if (name === undefined) release = await this.#slots.acquire(signal);
      yield* this.#pages(request, selections);
      pacer.succeeded();
    } catch (error) {
      if (signal.aborted) throw error;
      pacer.failed(error);
      // Calico's CRDs may be installed at any time; other APIs come with the server.
      if (datastoreCodeOf(error) !== "DATASTORE_NOT_FOUND" || !isCalicoKind(kind)) throw error;
      yield { items: [], revision: "", missing: messageOf(error) };
    } finally {
      release?.();
    }
  }

  async watch({ kind, revision, signal, name, namespace }: WatchRequest): Promise<WatchStream> {
    const pacer = this.#pacerOf(kind);
    await pacer.wait(signal);
    const halves: Half[] = [];
    try {
      const selections = selectionsOf(kind, await this.#sourcesOf(kind, signal), { name, namespace });
      const parts = splitRevision(revision, selections.length);
      for (const [i, selection] of selections.entries()) {
        const part = parts[i] ?? "";
        const seconds = this.#watchLength.secondsOf(pathOf(selection.source));
        const { needs } = selection.source;
        const options = { signal, idleMs: this.#watchIdleMs, seconds };
        const lines = await openWatch(this.#client, { selection, revision: part, needs, ...options });
        halves.push({ selection, lines, revision: part });
      }
      pacer.succeeded();
    } catch (error) {
      for (const { lines } of halves) lines.close();
      if (!signal.aborted) pacer.failed(error);
      throw error;
    }
    return new KubernetesWatch({
      halves,
      conversion: this.#conversion,
      skipped: this.#skipped,
      name,
      onEnd: (end) => this.#watchEnded(end),
    });
  }

  async probe(kind: DatastoreKind, signal: AbortSignal): Promise<void> {
    for (const source of await this.#sourcesOf(kind, signal)) {
      const op = opOf("Probe", { source });
      const query = { limit: "1" };
      await this.#client.json({ op, path: pathOf(source), query, accept: METADATA_ONLY, signal, isUnlimited: true });
    }
  }

  problems(): readonly Problem[] {
    return this.#skipped.list();
  }

  close(): Promise<void> {
    this.#closed.abort(new Error("Closed"));
    this.#client.close();
    return Promise.resolve();
  }

  async #sourcesOf(kind: DatastoreKind, signal: AbortSignal): Promise<readonly Source[]> {
    const group = isCalicoKind(kind) ? await this.#discovery.calicoGroup(signal) : CALICO_CRD_V1;
    return sourcesOf(kind, group);
  }

  async *#pages(request: ListRequest, selections: readonly Selection[]): AsyncGenerator<ListPage, void, undefined> {
    const { kind, name, signal } = request;
    const isFromStart = request.revision === "" || request.revision === "0";
    // Any recent state does for a first list. After that an older one would take back what was read already.
    const revision = !isFromStart ? request.revision : this.#listed.has(kind) ? "" : "0";
    const parts = splitRevision(revision, selections.length);
    const reached: string[] = [];
    for (const [i, selection] of selections.entries()) {
      this.#skipped.startList(selection.source.plural);
      let last = "";
      for await (const page of this.#reader.read({ selection, revision: parts[i] ?? "", signal })) {
        last = page.revision;
        const items = this.#itemsOf(page, selection);
        this.#listed.add(kind);
        yield { items: name === undefined ? items : items.filter((item) => item.name === name), revision: "" };
      }
      reached.push(last);
    }
    yield { items: kind === "Profile" && name === undefined ? [ALLOW_PROFILE] : [], revision: joinRevisions(reached) };
  }

  #itemsOf({ objects }: RawPage, { source }: Selection): Item[] {
    const items: Item[] = [];
    for (const object of objects) {
      const read = readObject(object, source, this.#conversion);
      if (read.type === "item") items.push(read.item);
      else if (read.type === "unreadable") this.#skipped.add(source.plural, source.kind, read.message);
    }
    return items;
  }

  #watchEnded({ selection, hasHeardBookmark, isProper, isIdle }: HalfEnd): void {
    this.#watchLength.ended(pathOf(selection.source), hasHeardBookmark, isProper);
    if (!isIdle) return;
    this.#client.distrustConnections();
    const watch = opOf("Watch", selection);
    this.#logger?.warn("A watch was silent and is replaced", { watch, idleMs: this.#watchIdleMs });
  }

  #pacerOf(kind: DatastoreKind): Pacer {
    let pacer = this.#pacers.get(kind);
    if (pacer === undefined) this.#pacers.set(kind, (pacer = new Pacer(this.#clock, this.#random)));
    return pacer;
  }
}
