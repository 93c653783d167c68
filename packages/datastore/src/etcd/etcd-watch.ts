import type { CancelTimer, Clock } from "@bulrush/base";
import type { Item, WatchEvent, WatchRequest, WatchStream } from "../driver/driver.ts";
import { DatastoreError } from "../errors.ts";
import type { EtcdClient, OpenWatch } from "./client/etcd-client.ts";
import {
  ALL_WATCHES,
  type Event,
  type WatchRequest as EtcdWatchRequest,
  watchRequest,
  type WatchResponse,
  watchResponse,
} from "./client/messages.ts";
import { RANGE } from "./client/methods.ts";
import { decodeMessage, encodeMessage } from "./client/protobuf.ts";
import { codeOfText, isOfMember, rpcError } from "./client/rpc-error.ts";
import type { KeyRange } from "./key-layout.ts";
import { formatRevision, type Place } from "./revision.ts";

export interface EtcdWatchOptions {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly range: KeyRange;
  readonly request: WatchRequest;
  /** Silence after which the server is asked for its progress, and how long its answer may take. */
  readonly idleMs: number;
  readonly answerTimeoutMs: number;
  /** Where the events begin, after this. */
  readonly from: Place;
  /**
   * What became of a key, `revision` being where a watch goes on from after it. Nothing for a key that is none of the
   * kind or not asked for.
   */
  readonly read: (event: Event, revision: string) => WatchEvent | undefined;
  /** Items that go before all events. */
  readonly first: readonly (readonly Item[])[];
}

/**
 * A watch on a range of keys. Reads from the stream only what it is asked for: the rest stays in the connection.
 *
 *     create ─> created ─> events ... ─> bookmark ─> events ... ─> canceled (compacted: expired) or broken
 *                             │  silent for idleMs: "progress?" ──┐
 *                             └── silent for answerTimeoutMs <────┘  half open: the stream and its connection end,
 *                                                                     unless nothing was ever written since the list
 *
 * etcd sends the changes of one revision together, but may cut a big answer into pieces anywhere. A reader goes on from
 * the revision of the last event it saw, so those of the last revision of a piece wait for the next one.
 *
 * Invariant: an event is given out only with all others of its revision.
 */
export class EtcdWatch implements WatchStream {
  /** How far the server had come when the watch began. */
  serverRevision = 0;
  readonly #options: EtcdWatchOptions;
  readonly #open: OpenWatch;
  readonly #first: (readonly Item[])[];
  /** Events of the last revision of a piece. */
  #held: readonly Event[] = [];
  #failure: unknown;
  #isEnded = false;
  #isClosed = false;
  #wake: (() => void) | undefined;
  readonly #onAbort = (): void => this.close();

  private constructor(options: EtcdWatchOptions, open: OpenWatch) {
    this.#options = options;
    this.#open = open;
    this.#first = [...options.first];
    const { call } = open;
    call.on("error", (error) => {
      this.#failure ??= error;
      this.#isEnded = true;
      this.#wake?.();
    });
    call.on("end", () => {
      this.#isEnded = true;
      this.#wake?.();
    });
    call.on("readable", () => this.#wake?.());
    options.request.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /**
   * Resolves when the server has said that the watch stands.
   *
   * @throws DatastoreError as a driver's watch does.
   */
  static async open(options: EtcdWatchOptions): Promise<EtcdWatch> {
    const { client, request, range, from } = options;
    const open = await client.openWatch(request.signal);
    const watch = new EtcdWatch(options, open);
    try {
      const { key, end } = range;
      watch.#send({
        create_request: {
          key: Buffer.from(key),
          range_end: end === undefined ? undefined : Buffer.from(end),
          start_revision: from.revision + 1,
          progress_notify: true,
          fragment: true,
        },
      });
      const response = await watch.#receive(options.answerTimeoutMs);
      request.signal.throwIfAborted();
      if (response === "silent") throw watch.#halfOpen();
      if (response === undefined) throw watch.#broken();
      if (response.canceled) throw canceled(response, open);
      const { clusterId } = from;
      if (clusterId !== undefined && response.header?.cluster_id !== clusterId) throw otherCluster(open);
      watch.serverRevision = response.header?.revision ?? 0;
      return watch;
    } catch (error) {
      watch.close();
      throw rpcError("Watch", open.member.name, error);
    }
  }

  async next(): Promise<readonly WatchEvent[] | undefined> {
    const { idleMs, answerTimeoutMs, request } = this.#options;
    const items = this.#isClosed ? undefined : this.#first.shift();
    if (items !== undefined) return items.map((item) => ({ type: "added", item, revision: request.revision }));
    let isAsked = false;
    for (;;) {
      const response = await this.#receive(isAsked ? answerTimeoutMs : idleMs);
      if (this.#isClosed) return undefined;
      if (response === "silent") {
        if (isAsked && !(await this.#isIdle())) return this.#fail(this.#halfOpen());
        if (this.#isClosed) return undefined;
        isAsked = true;
        this.#send({ progress_request: {} });
        continue;
      }
      isAsked = false;
      if (response === undefined) {
        if (this.#failure !== undefined) return this.#fail(this.#broken());
        this.close();
        return undefined;
      }
      if (response.canceled) return this.#fail(canceled(response, this.#open));
      const events = await this.#eventsOf(response);
      if (events.length > 0) return events;
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.request.signal.removeEventListener("abort", this.#onAbort);
    this.#open.call.cancel();
    this.#wake?.();
  }

  /**
   * Whether nothing was written since the list. Until then etcd tells no progress (its store has not reached the first
   * revision of the watch), and the watch can have missed nothing.
   */
  async #isIdle(): Promise<boolean> {
    const { range, from, request } = this.#options;
    try {
      const { header } = await this.#open.member.call(
        RANGE,
        { key: Buffer.from(range.key), limit: 1, keys_only: true },
        request.signal,
      );
      return header !== undefined && header.revision <= from.revision;
    } catch {
      return false;
    }
  }

  async #eventsOf(response: WatchResponse): Promise<WatchEvent[]> {
    const all = [...this.#held, ...response.events];
    const last = all.at(-1)?.kv?.mod_revision;
    const isWhole = (event: Event): boolean => !response.fragment || event.kv?.mod_revision !== last;
    this.#held = all.filter((event) => !isWhole(event));
    const { header, created, fragment, watch_id } = response;
    const events: WatchEvent[] = [];
    for (const event of all) {
      if (!isWhole(event)) continue;
      const read = this.#options.read(event, formatRevision(event.kv?.mod_revision ?? 0, header));
      if (read !== undefined) events.push(read);
    }
    if (all.length === 0 && !created && header !== undefined) {
      const isSafe = watch_id !== ALL_WATCHES || (await this.#open.member.isProgressSafe());
      if (isSafe) events.push({ type: "bookmark", revision: formatRevision(header.revision, header) });
    } else if (events.length === 0 && last !== undefined && !fragment) {
      // Only of keys that nobody asked for.
      events.push({ type: "bookmark", revision: formatRevision(last, header) });
    }
    return events;
  }

  /** The next response; undefined at the end of the stream or the watch; "silent" if none comes in time. */
  async #receive(timeoutMs: number): Promise<WatchResponse | "silent" | undefined> {
    const { call } = this.#open;
    let isLate = false;
    let cancelTimer: CancelTimer | undefined;
    try {
      for (;;) {
        if (this.#isClosed) return undefined;
        const bytes = call.read() as Buffer | null;
        if (bytes !== null) return decodeMessage(watchResponse, bytes);
        if (this.#isEnded) return undefined;
        if (isLate) return "silent";
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          cancelTimer ??= this.#options.clock.after(timeoutMs, () => {
            isLate = true;
            this.#wake?.();
          });
        });
      }
    } catch (error) {
      this.#failure ??= error;
      return undefined;
    } finally {
      cancelTimer?.();
    }
  }

  #send(request: EtcdWatchRequest): void {
    this.#open.call.write(encodeMessage(watchRequest, request));
  }

  #fail(error: DatastoreError): readonly WatchEvent[] {
    this.close();
    return [{ type: "error", error }];
  }

  #broken(): DatastoreError {
    const { client } = this.#options;
    const { member } = this.#open;
    const error = this.#failure ?? new Error("The server ended the stream");
    if (isOfMember(error)) client.giveUp(member);
    return rpcError("Watch", member.name, error);
  }

  #halfOpen(): DatastoreError {
    const { client } = this.#options;
    const { member } = this.#open;
    client.giveUp(member);
    return new DatastoreError(`Watch at ${member.name}: the server is silent`, {
      code: "DATASTORE_TIMEOUT",
      op: "Watch",
      data: { endpoint: member.name },
    });
  }
}

function canceled({ compact_revision, cancel_reason }: WatchResponse, { member }: OpenWatch): DatastoreError {
  const code = compact_revision > 0 ? "DATASTORE_EXPIRED" : (codeOfText(cancel_reason) ?? "DATASTORE_FAILED");
  const why = cancel_reason === "" ? `compacted up to ${compact_revision}` : cancel_reason;
  return new DatastoreError(`Watch at ${member.name}: ${why}`, { code, op: "Watch", data: { endpoint: member.name } });
}

function otherCluster({ member }: OpenWatch): DatastoreError {
  return new DatastoreError(`${member.name} is of another etcd cluster than the list was`, {
    code: "DATASTORE_EXPIRED",
    op: "Watch",
    data: { endpoint: member.name },
  });
}
