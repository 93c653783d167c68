import type { Clock } from "@bulrush/base";
import {
  type DatastoreDriver,
  datastoreCodeOf,
  type ListPage,
  type WatchEvent,
  type WatchStream,
} from "@bulrush/datastore";
import { revisionNumber } from "@bulrush/proto";

/** What was read is in the cache after this at the latest, and a watch that goes on has caught up. */
const SETTLE_MS = 1000;
/** What comes within this time counts as one. */
const GRAIN_MS = 100;

/** How far a source has read its datastore. */
export interface Reached {
  /** The highest revision that a list, an event or a bookmark named, of all kinds, and that is in the cache. */
  readonly revision: number;
  /** Every kind is being followed. One that is not may lack what the others are past. */
  readonly isWhole: boolean;
}

/**
 * Follows what a source reads through its driver. Only where revisions are one number for the whole store; a directory's
 * are each server's own.
 *
 * Invariant: `#fresh` holds, oldest first and ever higher, what was named in the last second, `#settled` what was before;
 * `#broken` holds the kinds that are being listed, or have no watch and no list that ended well.
 */
export class ReachedRevision {
  readonly #clock: Clock;
  readonly #broken = new Set<string>();
  #healedAtMs = Number.NEGATIVE_INFINITY;
  #settled = 0;
  #fresh: { readonly atMs: number; revision: number }[] = [];
  #isComparable = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: revisions say nothing. */
  state(): Reached | undefined {
    if (!this.#isComparable) return undefined;
    this.#settle();
    const isWhole = this.#broken.size === 0 && this.#clock.monotonicMs() - this.#healedAtMs >= SETTLE_MS;
    return { revision: this.#settled, isWhole };
  }

  /** The same driver, read along with. For one source. */
  observe(driver: DatastoreDriver): DatastoreDriver {
    if (driver.type === "file") return driver;
    this.#isComparable = true;
    return {
      type: driver.type,
      ...(driver.usePodCIDR !== undefined && { usePodCIDR: driver.usePodCIDR }),
      list: (request) => this.#list(request.kind, driver.list(request)),
      watch: async (request) => {
        try {
          const stream = await driver.watch(request);
          this.#heal(request.kind);
          return this.#watched(request.kind, stream);
        } catch (error) {
          // These are listed now and then instead.
          const code = datastoreCodeOf(error);
          if (code !== "DATASTORE_NOT_SUPPORTED" && code !== "DATASTORE_NOT_FOUND") this.#broken.add(request.kind);
          throw error;
        }
      },
      probe: (kind, signal) => driver.probe(kind, signal),
      problems: () => driver.problems(),
      close: () => driver.close(),
    };
  }

  async *#list(kind: string, pages: AsyncIterable<ListPage>): AsyncIterable<ListPage> {
    this.#broken.add(kind);
    let revision = "";
    try {
      for await (const page of pages) {
        yield page;
        ({ revision } = page);
      }
    } catch (error) {
      // There is nothing of this kind to be behind with.
      if (datastoreCodeOf(error) === "DATASTORE_NOT_FOUND") this.#heal(kind);
      throw error;
    }
    this.#heal(kind);
    this.#note(revision);
  }

  #watched(kind: string, stream: WatchStream): WatchStream {
    return {
      next: async () => {
        const events = await stream.next();
        if (events === undefined || events.some(({ type }) => type === "error")) this.#broken.add(kind);
        for (const event of events ?? []) this.#note(revisionOf(event));
        return events;
      },
      close: () => stream.close(),
    };
  }

  #heal(kind: string): void {
    if (this.#broken.delete(kind)) this.#healedAtMs = this.#clock.monotonicMs();
  }

  /** Of a revision of several parts, the lowest: all of them have come so far. */
  #note(text: string): void {
    const revision = Math.min(...text.split("/").map((part) => revisionNumber(part) ?? 0));
    this.#settle();
    const last = this.#fresh.at(-1);
    if (revision <= (last?.revision ?? this.#settled)) return;
    const atMs = this.#clock.monotonicMs();
    if (last !== undefined && atMs - last.atMs < GRAIN_MS) last.revision = revision;
    else this.#fresh.push({ atMs, revision });
  }

  #settle(): void {
    const untilMs = this.#clock.monotonicMs() - SETTLE_MS - GRAIN_MS;
    for (let first = this.#fresh[0]; first !== undefined && first.atMs <= untilMs; first = this.#fresh[0]) {
      this.#settled = first.revision;
      this.#fresh.shift();
    }
  }
}

function revisionOf(event: WatchEvent): string {
  switch (event.type) {
    case "added":
    case "modified":
      return event.revision ?? event.item.revision;
    case "error":
      return "";
    default:
      return event.revision;
  }
}
