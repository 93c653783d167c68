import { CalcGraph, type CalcMessage } from "@bulrush/calc";
import { felixParametersOf } from "@bulrush/datastore";
import type { SyncerCallbacks, SyncStatus, Update } from "@bulrush/model";
import { graphConfigFor } from "./graph-config.ts";

/**
 * One host's graph on a stream, as its agent has it: what comes before in-sync is gathered, for it also decides how the
 * graph is started; after that each change goes into the graph.
 *
 * Invariant: before the graph is there, `#gathered` has the newest value of each key; after it, nothing.
 */
export class StreamedHost implements SyncerCallbacks {
  readonly #hostname: string;
  readonly #gathered = new Map<string, Update>();
  #graph: CalcGraph | undefined;
  #sent: CalcMessage[] = [];

  constructor(hostname: string) {
    this.#hostname = hostname;
  }

  onUpdates(updates: readonly Update[]): void {
    if (this.#graph !== undefined) {
      this.#graph.onUpdates(updates);
      return;
    }
    for (const update of updates) {
      if (update.value === undefined) this.#gathered.delete(update.path);
      else this.#gathered.set(update.path, update);
    }
  }

  onStatusUpdated(status: SyncStatus): void {
    this.#graph?.onStatusUpdated(status);
  }

  /** In sync, and flushed: at the first time with all that was gathered, later as a status. */
  setInSync(): readonly CalcMessage[] {
    if (this.#graph === undefined) {
      const updates = [...this.#gathered.values()];
      this.#gathered.clear();
      this.#graph = new CalcGraph({
        hostname: this.#hostname,
        config: graphConfigFor(updates, this.#hostname),
        parametersOf: felixParametersOf,
        sink: (message) => void this.#sent.push(message),
      });
      this.#graph.onStatusUpdated("resync");
      this.#graph.onUpdates(updates);
    }
    this.#graph.onStatusUpdated("in-sync");
    return this.flush();
  }

  /** What has changed since the last flush; nothing before in-sync. */
  flush(): readonly CalcMessage[] {
    this.#graph?.flush();
    const sent = this.#sent;
    this.#sent = [];
    return sent;
  }
}
