import { type BoundedQueue, type Clock, messageOf, sleep } from "@bulrush/base";
import type { SyncStatus, Update } from "@bulrush/model";
import type { DatastoreDriver, Item, ItemKey, WatchEvent, WatchStream } from "../driver/driver.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import { datastoreCodeOf, type DatastoreErrorCode } from "../errors.ts";
import type { DatastoreLogger } from "../logger.ts";
import { formatProblem, type Problem } from "../problem.ts";
import { processSafely, type ProcessorInput, type UpdateProcessor } from "../process/processor.ts";
import { Freshness } from "./freshness.ts";
import { ItemProblems, type UnusableItems } from "./item-problems.ts";
import { KnownKeys } from "./known-keys.ts";
import type { Result } from "./result.ts";
import {
  LIST_RETRY_INTERVAL_MS,
  MAX_ERRORS_PER_REVISION,
  MIN_RESYNC_INTERVAL_MS,
  MISSING_API_RETRY_MS,
  SHORT_WATCH_MS,
  SHORT_WATCHES,
  WATCH_POLL_INTERVAL_MS,
} from "./timing.ts";

export interface WatcherCacheOptions {
  readonly kind: DatastoreKind;
  /** Only this item. */
  readonly name?: string;
  readonly driver: DatastoreDriver;
  readonly processor: UpdateProcessor;
  readonly clock: Clock;
  /** Place in the aggregator's list. */
  readonly index: number;
  readonly queue: BoundedQueue<Result>;
  readonly connectionTimeoutMs: number;
  readonly logger: DatastoreLogger | undefined;
  readonly onProblems: () => void;
}

/** Where "from the beginning" is. */
const START = "0";

/** Why a kind is not in sync, or what is amiss though it is. */
export interface KindTrouble {
  readonly text: string;
  /** Of the last error; undefined before the first list has ended. */
  readonly code: DatastoreErrorCode | undefined;
  /** Since when the kind has not been in order, clock milliseconds: the words may have changed in the meantime. */
  readonly sinceMs: number;
}

/**
 * Follows one kind: list, then watch from the list's revision, then what each error asks for.
 *
 *            ┌──────────── 1 s: list failed ───────────┐
 *            v                                         │
 *     [wait until allowed] ── revision "0" or told to ─> list ── ok ─> watch ── stream ends ─┐
 *            ^  ^  30 min: no such API; 5 s: cannot be watched │         │                    │
 *            │  └──────────────────────────────────────────────┘   expired: revision "0"     │
 *            └───────────────────────── at least 500 ms a turn ──────────┴───────────────────┘
 *
 * Sends through the queue, in order: statuses, and updates of the keys that the processor makes. What is sent never
 * loses a key because a list failed: deletes are made up only after a complete one.
 *
 * Invariant: `#status` is the last status that was queued; no update is queued while it is wait-for-ready.
 */
export class WatcherCache {
  readonly kind: DatastoreKind;
  readonly #options: WatcherCacheOptions;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #known = new KnownKeys();
  readonly #problems: ItemProblems;
  readonly #freshness: Freshness;
  #status: SyncStatus = "wait-for-ready";
  #revision = START;
  #needsList = true;
  #blockedUntilMs: number;
  #isConnected = false;
  #lastConnectionMs: number;
  #errorsAtRevision = 0;
  /** Watches in a row that ended at once, and how many of them are enough. */
  #shortWatches = 0;
  #shortLimit: number = SHORT_WATCHES.first;
  /** How the last turn ended, where that keeps the kind in sync through the next list. */
  #quiet: "api-missing" | "polling" | undefined;
  #trouble: KindTrouble | undefined;

  constructor(options: WatcherCacheOptions) {
    this.kind = options.kind;
    this.#options = options;
    this.#clock = options.clock;
    this.#problems = new ItemProblems(options.clock, options.onProblems);
    this.#freshness = new Freshness(options.clock, options.driver, options.kind);
    this.#blockedUntilMs = this.#clock.monotonicMs();
    this.#lastConnectionMs = this.#clock.monotonicMs();
    this.#trouble = { text: "Not listed yet", code: undefined, sinceMs: this.#clock.nowMs() };
  }

  get status(): SyncStatus {
    return this.#status;
  }

  get keys(): number {
    return this.#known.size;
  }

  /** Undefined when all is well. */
  get trouble(): KindTrouble | undefined {
    return this.#trouble;
  }

  upstreamAgeMs(): number | undefined {
    return this.#freshness.ageMs();
  }

  problems(): readonly Problem[] {
    return this.#problems.list();
  }

  unusable(): UnusableItems | undefined {
    return this.#problems.unusable();
  }

  /** Runs until `stop`; call once. The last result is "end". */
  async run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        const waitMs = this.#blockedUntilMs - this.#clock.monotonicMs();
        if (waitMs > 0) await sleep(this.#clock, waitMs, signal);
        this.#blockFor(MIN_RESYNC_INTERVAL_MS);
        if ((this.#needsList || this.#revision === START) && !(await this.#list())) continue;
        const stream = await this.#openWatch();
        if (stream !== undefined) await this.#follow(stream);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  /**
   * Ends `run`. With `sendDeletes`, deletes for everything known go out last.
   */
  async stop(running: Promise<void>, sendDeletes: boolean): Promise<void> {
    this.#freshness.stop();
    this.#abort.abort(new Error("Stopped"));
    await running;
    if (sendDeletes) {
      const deletes = this.#known.clear(this.#revision);
      if (deletes.length > 0 && this.#status === "wait-for-ready") await this.#setStatus("resync");
      await this.#send(deletes);
    }
    await this.#push({ type: "end" });
  }

  /** A full list. True when a watch can go on from it. */
  async #list(): Promise<boolean> {
    const { driver, processor, name } = this.#options;
    const { signal } = this.#abort;
    processor.onSyncerStarting();
    if (this.#quiet === undefined) await this.#setStatus(this.#isConnected ? "resync" : "wait-for-ready");
    this.#needsList = true;
    let items = 0;
    let revision = "";
    let isFirst = true;
    let missing: string | undefined;
    try {
      const request = { kind: this.kind, revision: this.#revision, signal, ...(name !== undefined && { name }) };
      for await (const page of driver.list(request)) {
        if (isFirst) await this.#beginResync();
        isFirst = false;
        this.#answered();
        items += page.items.length;
        await this.#processAll(page.items);
        revision = page.revision;
        ({ missing } = page);
      }
    } catch (error) {
      await this.#listFailed(error, !isFirst);
      return false;
    }
    this.#answered();
    if (isFirst) await this.#beginResync();
    const hasRevision = revision !== "" && revision !== START;
    if (!hasRevision && items > 0) {
      // Nothing could be missed only by luck: there is no place to watch from.
      this.#quiet = undefined;
      this.#retryList("The list had no revision", "DATASTORE_MALFORMED");
      return false;
    }
    await this.#finishResync(revision, missing);
    if (!hasRevision) {
      this.#poll();
      return false;
    }
    this.#quiet = undefined;
    this.#revision = revision;
    this.#errorsAtRevision = 0;
    this.#needsList = false;
    return true;
  }

  async #beginResync(): Promise<void> {
    if (this.#status === "wait-for-ready") await this.#setStatus("resync");
    this.#known.startResync();
    this.#problems.startResync();
  }

  /** `missing`: why the list is empty, where the server does not have the kind. Whoever hears of in-sync can ask why. */
  async #finishResync(revision: string, missing?: string): Promise<void> {
    await this.#send(this.#known.finishResync(revision));
    this.#problems.finishResync();
    if (missing === undefined) this.#inOrder();
    else this.#amiss(missing, "DATASTORE_NOT_FOUND");
    await this.#setStatus("in-sync");
  }

  async #listFailed(error: unknown, hasPages: boolean): Promise<void> {
    if (this.#abort.signal.aborted) return;
    const code = datastoreCodeOf(error);
    // What was told of the pages may be newer than the revision: a list of any state since then could take it back.
    if (hasPages) this.#revision = START;
    // After a page the API is there: what is missing then is something else, and takes no key away.
    switch (hasPages && code === "DATASTORE_NOT_FOUND" ? "DATASTORE_FAILED" : code) {
      case "DATASTORE_NOT_FOUND":
        this.#answered();
        await this.#beginResync();
        await this.#finishResync(this.#revision, `The server does not know this kind: ${messageOf(error)}`);
        this.#quiet = "api-missing";
        this.#revision = START;
        this.#blockFor(MISSING_API_RETRY_MS);
        return;
      case "DATASTORE_EXPIRED":
      case "DATASTORE_REVISION_TOO_LARGE":
        this.#answered();
        this.#revision = START;
        break;
      default:
        this.#checkConnection();
    }
    this.#quiet = undefined;
    this.#retryList(`List failed: ${messageOf(error)}`, code);
  }

  #retryList(reason: string, code: DatastoreErrorCode): void {
    this.#amiss(reason, code);
    this.#blockFor(LIST_RETRY_INTERVAL_MS);
  }

  /** The kind cannot be watched: full lists take the place of events. */
  #poll(): void {
    this.#quiet = "polling";
    this.#needsList = true;
    this.#blockFor(WATCH_POLL_INTERVAL_MS);
  }

  async #openWatch(): Promise<WatchStream | undefined> {
    const { driver, name } = this.#options;
    const { signal } = this.#abort;
    try {
      const request = { kind: this.kind, revision: this.#revision, signal, ...(name !== undefined && { name }) };
      const stream = await driver.watch(request);
      if (signal.aborted) {
        stream.close();
        return undefined;
      }
      // A quiet kind may hear nothing else for hours.
      this.#answered();
      this.#inOrder();
      return stream;
    } catch (error) {
      if (!signal.aborted) this.#watchRefused(error);
      return undefined;
    }
  }

  #watchRefused(error: unknown): void {
    const code = datastoreCodeOf(error);
    switch (code) {
      case "DATASTORE_EXPIRED":
      case "DATASTORE_REVISION_TOO_LARGE":
        this.#revision = START;
        break;
      case "DATASTORE_CONNECTION_REFUSED":
      case "DATASTORE_TOO_MANY_REQUESTS":
        if (this.#checkConnection()) this.#revision = START;
        break;
      case "DATASTORE_NOT_SUPPORTED":
      case "DATASTORE_NOT_FOUND":
        this.#poll();
        this.#inOrder();
        return;
      default:
        if (++this.#errorsAtRevision >= MAX_ERRORS_PER_REVISION) {
          this.#errorsAtRevision = 0;
          this.#needsList = true;
        }
    }
    this.#amiss(`Watch failed: ${messageOf(error)}`, code);
  }

  async #follow(stream: WatchStream): Promise<void> {
    const startMs = this.#clock.monotonicMs();
    let isSilent = true;
    try {
      for (let events = await stream.next(); events !== undefined; events = await stream.next()) {
        isSilent = false;
        if (events.some(isAnswer)) this.#answered();
        const updates: Update[] = [];
        const goesOn = events.every((event) => this.#handle(event, updates));
        await this.#send(updates);
        if (!goesOn) return;
      }
      if (isSilent && this.#clock.monotonicMs() - startMs < SHORT_WATCH_MS) this.#endedAtOnce();
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#streamFailed(error);
    } finally {
      stream.close();
    }
  }

  /** Without an error and without an event, over and over: nothing would ever be heard at this revision. */
  #endedAtOnce(): void {
    if (this.#abort.signal.aborted || ++this.#shortWatches < this.#shortLimit) return;
    this.#options.logger?.warn("Watches end at once: a full list takes their place", {
      kind: this.kind,
      watches: this.#shortWatches,
    });
    this.#shortWatches = 0;
    this.#shortLimit = Math.min(this.#shortLimit * 2, SHORT_WATCHES.most);
    this.#needsList = true;
  }

  /** False when the stream is of no more use. */
  #handle(event: WatchEvent, updates: Update[]): boolean {
    switch (event.type) {
      case "added":
      case "modified":
        this.#processItem(event.item, updates);
        this.#moveTo(event.revision ?? event.item.revision);
        return true;
      case "deleted":
        if (event.item === undefined) {
          this.#revision = START;
          this.#amiss("The server did not say what was deleted", "DATASTORE_MALFORMED");
          return false;
        }
        this.#process(event.item, undefined, event.revision, updates);
        this.#moveTo(event.revision);
        return true;
      case "bookmark":
        this.#moveTo(event.revision);
        return true;
      case "error":
        this.#streamFailed(event.error);
        return false;
    }
  }

  #streamFailed(error: unknown): void {
    const code = datastoreCodeOf(error);
    this.#amiss(`Watch failed: ${messageOf(error)}`, code);
    if (code === "DATASTORE_EXPIRED") this.#revision = START;
    else if (++this.#errorsAtRevision >= MAX_ERRORS_PER_REVISION) this.#revision = START;
  }

  #moveTo(revision: string): void {
    this.#revision = revision;
    this.#errorsAtRevision = 0;
    this.#shortWatches = 0;
    this.#shortLimit = SHORT_WATCHES.first;
    this.#inOrder();
  }

  async #processAll(items: readonly Item[]): Promise<void> {
    const { queue } = this.#options;
    for (const item of items) {
      const updates: Update[] = [];
      this.#processItem(item, updates);
      if (updates.length === 0) continue;
      // Waits only where it must: at each item, the page would go on in batches of three.
      if (queue.isFull) await this.#send(updates);
      else queue.push({ type: "updates", updates });
    }
  }

  #processItem(item: Item, updates: Update[]): void {
    const { value, revision, issues } = item;
    this.#process(item, { value, ...(issues !== undefined && { issues }) }, revision, updates, item);
  }

  /** `state` undefined: the item is gone. */
  #process(
    { kind, namespace, name }: ItemKey,
    state: Pick<ProcessorInput, "value" | "issues"> | undefined,
    revision: string,
    updates: Update[],
    place: Pick<Item, "source" | "subject"> = {},
  ): void {
    const item: ItemKey = { kind, namespace, name };
    const result = processSafely(this.#options.processor, { item, value: undefined, ...state, revision });
    let isKept = false;
    for (const output of result.outputs) {
      const applied = this.#known.apply(output, revision, result.isClosedForm);
      if (applied === "kept") isKept = true;
      else if (applied !== undefined) updates.push(applied);
    }
    const closed = result.isClosedForm ? (result.effect ?? "closed") : undefined;
    const effect = isKept ? "the last good version stays in force" : closed;
    this.#log(item, this.#problems.set(item, state === undefined ? [] : result.issues, effect, place));
  }

  #log(item: ItemKey, news: readonly Problem[] | "mended"): void {
    const { logger } = this.#options;
    if (news === "mended") {
      logger?.info("Stored data has no problem any more", { ...item });
      return;
    }
    for (const problem of news) {
      const log = problem.severity === "error" ? "error" : "warn";
      logger?.[log]("Stored data is not usable as written", { problem: formatProblem(problem) });
    }
  }

  #answered(): void {
    this.#freshness.answered();
    this.#isConnected = true;
    this.#lastConnectionMs = this.#clock.monotonicMs();
  }

  /** True when the connection counts as lost from now on. */
  #checkConnection(): boolean {
    if (this.#clock.monotonicMs() - this.#lastConnectionMs <= this.#options.connectionTimeoutMs) return false;
    if (this.#isConnected) this.#options.logger?.error("Connection to the datastore is lost", { kind: this.kind });
    this.#isConnected = false;
    return true;
  }

  #blockFor(delayMs: number): void {
    this.#blockedUntilMs = this.#clock.monotonicMs() + delayMs;
  }

  #amiss(text: string, code: DatastoreErrorCode): void {
    const known = this.#trouble;
    if (known?.text === text && known.code === code) return;
    const sinceMs = known?.sinceMs ?? this.#clock.nowMs();
    this.#trouble = { text, code, sinceMs };
    const since = new Date(sinceMs).toISOString();
    this.#options.logger?.warn("Datastore kind is not in order", { kind: this.kind, reason: text, code, since });
  }

  #inOrder(): void {
    const known = this.#trouble;
    if (known === undefined) return;
    this.#trouble = undefined;
    // The first list of all is no news.
    if (known.code === undefined) return;
    const since = new Date(known.sinceMs).toISOString();
    this.#options.logger?.info("Datastore kind is in order again", { kind: this.kind, reason: known.text, since });
  }

  async #setStatus(status: SyncStatus): Promise<void> {
    if (status === this.#status) return;
    this.#status = status;
    await this.#push({ type: "status", cache: this.#options.index, status });
  }

  async #send(updates: readonly Update[]): Promise<void> {
    if (updates.length > 0) await this.#push({ type: "updates", updates });
  }

  async #push(result: Result): Promise<void> {
    const { queue } = this.#options;
    while (queue.isFull) await queue.whenSpace();
    queue.push(result);
  }
}

/** True for what only a server can have said: an error may as well come from a broken connection. */
function isAnswer(event: WatchEvent): boolean {
  return event.type !== "error" || datastoreCodeOf(event.error) === "DATASTORE_EXPIRED";
}
