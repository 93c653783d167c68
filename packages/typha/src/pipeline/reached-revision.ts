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
/**
 * A watch that goes on after an error may have much to catch up with, while other kinds are past it already. So long it
 * counts as behind, unless it names a revision as high as theirs before.
 */
const CATCH_UP_MS = 10_000;
/** What comes within this time counts as one. */
const GRAIN_MS = 100;

/** How far a source has read its datastore. */
export interface Reached {
  /** The highest revision that a list, an event or a bookmark named, of all kinds, and that is in the cache. */
  readonly revision: number;
  /** Every kind is being followed, and has caught up. One that has not may lack what the others are past. */
  readonly isWhole: boolean;
}

/**
 * Follows what a source reads through its driver. Only where revisions are one number for the whole store; a directory's
 * are each server's own.
 *
 * Invariant: `#fresh` holds, oldest first and ever higher, what was named in the last second, `#settled` what was before;
 * `#broken` holds the kinds that are being listed, or have no watch and no list that ended well, `#failed` those among
 * them whose watch has ended with an error; `#late` those whose watch goes on after one, and until when that counts.
 */
export class ReachedRevision {
  readonly #clock: Clock;
  readonly #broken = new Set<string>();
  readonly #failed = new Set<string>();
  readonly #late = new Map<string, number>();
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
    const nowMs = this.#clock.monotonicMs();
    for (const [kind, untilMs] of this.#late) if (nowMs >= untilMs) this.#isInTime(kind, untilMs);
    const isWhole = this.#broken.size === 0 && this.#late.size === 0 && nowMs - this.#healedAtMs >= SETTLE_MS;
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
          if (this.#failed.has(request.kind)) {
            this.#late.set(request.kind, this.#clock.monotonicMs() + CATCH_UP_MS);
          }
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
    this.#late.delete(kind);
    this.#heal(kind);
    this.#note(revision);
  }

  #watched(kind: string, stream: WatchStream): WatchStream {
    return {
      next: async () => {
        try {
          const events = await stream.next();
          if (events === undefined) this.#broken.add(kind);
          for (const event of events ?? []) {
            if (event.type === "error") this.#fail(kind);
            else this.#note(revisionOf(event), kind);
          }
          return events;
        } catch (error) {
          this.#fail(kind);
          throw error;
        }
      },
      close: () => stream.close(),
    };
  }

  #fail(kind: string): void {
    this.#broken.add(kind);
    this.#failed.add(kind);
  }

  #heal(kind: string): void {
    this.#failed.delete(kind);
    if (this.#broken.delete(kind)) this.#healedAtMs = this.#clock.monotonicMs();
  }

  /** Of a revision of several parts, the lowest: all of them have come so far. */
  #note(text: string, kind?: string): void {
    const revision = Math.min(...text.split("/").map((part) => revisionNumber(part) ?? 0));
    this.#settle();
    if (kind !== undefined && revision >= this.#newest()) this.#isInTime(kind, this.#clock.monotonicMs());
    const last = this.#fresh.at(-1);
    if (revision <= this.#newest()) return;
    const atMs = this.#clock.monotonicMs();
    if (last !== undefined && atMs - last.atMs < GRAIN_MS) last.revision = revision;
    else this.#fresh.push({ atMs, revision });
  }

  /** A late kind has caught up. */
  #isInTime(kind: string, atMs: number): void {
    if (this.#late.delete(kind)) this.#healedAtMs = Math.max(this.#healedAtMs, atMs);
  }

  #newest(): number {
    return this.#fresh.at(-1)?.revision ?? this.#settled;
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
