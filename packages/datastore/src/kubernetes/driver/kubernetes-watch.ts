import type { WatchEvent, WatchStream } from "../../driver/driver.ts";
import type { ConversionOptions } from "../../manifest/to-item.ts";
import { joinRevisions } from "./composite-revision.ts";
import { opOf } from "./list-source.ts";
import { rawEvents, type RawEvent } from "./raw-events.ts";
import { readObject } from "./read-object.ts";
import type { SkippedObjects } from "../../driver/skipped-objects.ts";
import type { Selection } from "./source.ts";
import type { WatchLines } from "./watch-lines.ts";

/** One of the watches that a kind is made from. */
export interface Half {
  readonly selection: Selection;
  readonly lines: WatchLines;
  /** Where it stands. */
  readonly revision: string;
}

export interface KubernetesWatchOptions {
  readonly halves: readonly Half[];
  readonly conversion: ConversionOptions;
  readonly skipped: SkippedObjects;
  /** Only this item. */
  readonly name: string | undefined;
  /** A watch of the halves is over, but not because its reader closed it. `isProper`: the server has ended it. */
  readonly onEnd: (end: HalfEnd) => void;
}

/** How the watch of one half went. */
export interface HalfEnd {
  readonly selection: Selection;
  readonly hasHeardBookmark: boolean;
  /** The server ended it, or it was well when the other half ended. */
  readonly isProper: boolean;
  /** It was silent for too long. */
  readonly isIdle: boolean;
}

/**
 * The watches of a kind as one stream.
 *
 *     namespaces      ── lines ─┐
 *                               ├─> read, convert ─> events, each with the place of both: "12/345"
 *     serviceaccounts ── lines ─┘
 *
 * It ends when one of them ends, and it ends without an error when the connection was cut: whoever reads goes on from
 * the last revision, in which each has its own part.
 *
 * Invariant: `#revisions` is where the events that were given out have come to, one entry a half.
 */
export class KubernetesWatch implements WatchStream {
  readonly #options: KubernetesWatchOptions;
  readonly #revisions: string[];
  readonly #bookmarked = new Set<number>();
  #isClosed = false;

  constructor(options: KubernetesWatchOptions) {
    this.#options = options;
    this.#revisions = options.halves.map(({ revision }) => revision);
  }

  async next(): Promise<readonly WatchEvent[] | undefined> {
    const { halves } = this.#options;
    for (;;) {
      for (const [i, { lines }] of halves.entries()) {
        const piece = lines.take();
        if (piece === undefined) continue;
        const events = this.#read(i, piece);
        if (events.length > 0) return events;
      }
      const ended = halves.find(({ lines }) => lines.end !== undefined && !lines.hasLines);
      if (ended !== undefined) return this.#ended(ended);
      await new Promise<void>((resolve) => {
        for (const { lines } of halves) lines.onChange = resolve;
        // One may have changed while another was read.
        if (halves.some(({ lines }) => lines.hasLines || lines.end !== undefined)) resolve();
      });
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const { lines } of this.#options.halves) lines.close();
  }

  #ended({ lines: { end } }: Half): readonly WatchEvent[] | undefined {
    if (this.#isClosed) return undefined;
    for (const [i, half] of this.#options.halves.entries()) {
      const own = half.lines.end;
      this.#options.onEnd({
        selection: half.selection,
        hasHeardBookmark: this.#bookmarked.has(i),
        isProper: own === undefined || own === "ended",
        isIdle: own === "idle",
      });
    }
    this.close();
    return typeof end === "object" ? [{ type: "error", error: end }] : undefined;
  }

  #read(half: number, piece: Buffer): readonly WatchEvent[] {
    const { halves } = this.#options;
    const out: WatchEvent[] = [];
    const selection = halves[half]?.selection;
    if (selection === undefined) return out;
    for (const event of rawEvents(piece, opOf("Watch", selection))) {
      const made = this.#event(half, event, selection);
      if (made === undefined) continue;
      // Many in a row of what nobody sees come to one.
      if (made.type === "bookmark" && out.at(-1)?.type === "bookmark") out.pop();
      out.push(made);
      if (made.type === "error") break;
    }
    return out;
  }

  #event(half: number, event: RawEvent, { source }: Selection): WatchEvent | undefined {
    switch (event.type) {
      case "error":
        return event;
      case "bookmark":
        this.#bookmarked.add(half);
        return { type: "bookmark", revision: this.#moveTo(half, event.revision) };
      default: {
        const { conversion, skipped, name } = this.#options;
        const read = readObject(event.object, source, conversion);
        switch (read.type) {
          case "unreadable":
            skipped.add(source.plural, source.kind, read.message);
            if (event.type === "deleted") return { type: "deleted", item: undefined, revision: "" };
            return read.revision === "" ? undefined : { type: "bookmark", revision: this.#moveTo(half, read.revision) };
          case "hidden":
            return { type: "bookmark", revision: this.#moveTo(half, read.revision) };
          case "item": {
            const { item } = read;
            const revision = this.#moveTo(half, item.revision);
            if (name !== undefined && item.name !== name) return { type: "bookmark", revision };
            if (event.type !== "deleted") return { type: event.type, item, revision };
            return { type: "deleted", item: { kind: item.kind, namespace: item.namespace, name: item.name }, revision };
          }
        }
      }
    }
  }

  #moveTo(half: number, revision: string): string {
    this.#revisions[half] = revision;
    return joinRevisions(this.#revisions);
  }
}
