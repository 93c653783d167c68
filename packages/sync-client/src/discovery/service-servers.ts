import { Backoff, type Clock, messageOf, sleep } from "@bulrush/base";
import type { EndpointSliceResource } from "@bulrush/model";
import type { Logger } from "@bulrush/service";
import { formatServerAddress, type ServerAddress } from "../server-address.ts";
import type { ServerSource } from "../server-source.ts";
import { sliceServers } from "./slice-servers.ts";

/** One change of one EndpointSlice. "set" is a new one or a new version. */
export type SliceEvent =
  | { readonly type: "set"; readonly slice: EndpointSliceResource }
  | { readonly type: "deleted"; readonly name: string };

/** The EndpointSlices of one namespace, as a Kubernetes API gives them. Everything may fail, and is then begun anew. */
export interface SliceFeed {
  list(signal: AbortSignal): Promise<{ readonly slices: readonly EndpointSliceResource[]; readonly revision: string }>;
  /** What changed after the revision, until the stream ends. */
  watch(revision: string, signal: AbortSignal): AsyncIterable<readonly SliceEvent[]>;
}

export interface ServiceServersOptions {
  readonly feed: SliceFeed;
  readonly serviceName: string;
  readonly portName: string;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly logger?: Logger;
}

/** The servers of a Service, and the end of what follows them. */
export interface ServiceServers extends ServerSource {
  /** Calls `changed` after each change of the list, until the returned function is called. */
  follow(changed: () => void): () => void;
  /** Ends list and watch. The list stays as it was. */
  close(): void;
}

/** A list that takes longer has failed; nobody waits longer for the first one. */
const LIST_TIMEOUT_MS = 10_000;

/**
 * Follows the endpoints of a Service. Begins at the first `list`, which waits for them for at most 10 s and fails with
 * what the API says. Once known, a list stays until the next one: an API that is away takes no server away.
 *
 * ```
 *  list --slices--> watch --end--> list ...      any failure: 1 s doubling to 30 s, half of it random
 * ```
 */
export function serviceServers(options: ServiceServersOptions): ServiceServers {
  return new Follower(options);
}

class Follower implements ServiceServers {
  readonly #options: ServiceServersOptions;
  readonly #backoff: Backoff;
  readonly #abort = new AbortController();
  readonly #listeners = new Set<() => void>();
  #slices = new Map<string, EndpointSliceResource>();
  #servers: readonly ServerAddress[] | undefined;
  #problem = "not listed yet";
  /** Resolves when the first list has come or failed. */
  readonly #first = Promise.withResolvers<void>();
  #isRunning = false;

  constructor(options: ServiceServersOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ initialMs: 1000, maxMs: 30_000 }, options.random);
  }

  async list(): Promise<readonly ServerAddress[]> {
    if (!this.#isRunning) {
      this.#isRunning = true;
      void this.#run();
    }
    await this.#first.promise;
    const { serviceName } = this.#options;
    if (this.#servers === undefined) throw new Error(`EndpointSlices of ${serviceName}: ${this.#problem}`);
    return this.#servers;
  }

  follow(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  }

  close(): void {
    this.#abort.abort(new Error("Closed"));
    this.#first.resolve();
  }

  async #run(): Promise<void> {
    const { feed, clock, logger, serviceName } = this.#options;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        const revision = await this.#list();
        for await (const events of feed.watch(revision, signal)) {
          this.#backoff.reset();
          this.#apply(events);
        }
      } catch (error) {
        if (signal.aborted) return;
        const problem = messageOf(error);
        // The same again and again is said once.
        if (problem !== this.#problem) logger?.warn("Cannot follow the servers of the Service", { serviceName, error });
        this.#problem = problem;
      }
      this.#first.resolve();
      await sleep(clock, this.#backoff.nextMs(), signal).catch(() => undefined);
    }
  }

  async #list(): Promise<string> {
    const { feed, clock } = this.#options;
    const late = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = clock.after(LIST_TIMEOUT_MS, () => {
      const error = new Error(`no answer in ${LIST_TIMEOUT_MS / 1000} s`);
      late.abort(error);
      reject(error);
    });
    try {
      const signal = AbortSignal.any([this.#abort.signal, late.signal]);
      const { slices, revision } = await Promise.race([feed.list(signal), promise]);
      this.#slices = new Map(slices.map((slice) => [slice.metadata.name, slice]));
      this.#problem = "";
      this.#update();
      return revision;
    } finally {
      cancel();
    }
  }

  #apply(events: readonly SliceEvent[]): void {
    for (const event of events) {
      if (event.type === "set") this.#slices.set(event.slice.metadata.name, event.slice);
      else this.#slices.delete(event.name);
    }
    this.#update();
  }

  #update(): void {
    const before = this.#servers;
    this.#servers = sliceServers(this.#slices.values(), this.#options);
    this.#first.resolve();
    if (before !== undefined && textOf(before) === textOf(this.#servers)) return;
    for (const changed of this.#listeners) changed();
  }
}

function textOf(servers: readonly ServerAddress[]): string {
  return servers
    .map((server) => `${formatServerAddress(server)} ${server.nodeName ?? ""}`)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join();
}
