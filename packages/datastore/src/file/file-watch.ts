import type { WatchEvent, WatchRequest, WatchStream } from "../driver/driver.ts";
import { DatastoreError } from "../errors.ts";
import type { FileStore } from "./file-store.ts";

const MAX_EVENTS_A_READ = 500;

/** A watch on the store: reads its log from a position on, and waits at the end of it. */
export class FileWatch implements WatchStream {
  readonly #store: FileStore;
  readonly #request: WatchRequest;
  #position: number;
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor(store: FileStore, request: WatchRequest) {
    this.#store = store;
    this.#request = request;
    this.#position = Number(request.revision);
  }

  async next(): Promise<readonly WatchEvent[] | undefined> {
    while (!this.#isClosed && !this.#request.signal.aborted) {
      const events = this.#store.eventsAfter(this.#request.kind, this.#position, MAX_EVENTS_A_READ);
      if (events === undefined) {
        const error = new DatastoreError(`Events after revision ${this.#position} are no longer kept`, {
          code: "DATASTORE_EXPIRED",
        });
        return [{ type: "error", error }];
      }
      const last = events.at(-1);
      if (last !== undefined) {
        this.#position = positionOf(last);
        const wanted = events.filter((event) => this.#isWanted(event));
        if (wanted.length > 0) return wanted;
      } else await this.#changed();
    }
    return undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  /** Resolves at the next change, at the abort and at `close`. */
  #changed(): Promise<void> {
    const { signal } = this.#request;
    return new Promise((resolve) => {
      const stopListening = this.#store.onChange(() => this.#wake?.());
      this.#wake = (): void => {
        stopListening();
        signal.removeEventListener("abort", this.#wake as () => void);
        this.#wake = undefined;
        resolve();
      };
      signal.addEventListener("abort", this.#wake, { once: true });
    });
  }

  #isWanted(event: WatchEvent): boolean {
    const { name, namespace } = this.#request;
    if (!("item" in event) || event.item === undefined) return true;
    return (
      (name === undefined || event.item.name === name) &&
      (namespace === undefined || event.item.namespace === namespace)
    );
  }
}

function positionOf(event: WatchEvent): number {
  if (event.type === "error") return 0;
  return Number(event.type === "added" || event.type === "modified" ? event.item.revision : event.revision);
}
