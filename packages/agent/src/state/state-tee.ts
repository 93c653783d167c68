import type { SyncerCallbacks } from "@bulrush/model";
import type { StateStore } from "./state-store.ts";

/** Saves what goes by on its way to the graph. */
export interface StateTee {
  /** Stands before the graph, and after the validation filter: what is saved is what counts. */
  wrap(next: SyncerCallbacks): SyncerCallbacks;
  /** Resolves when what went by is written. */
  whenSaved(): Promise<void>;
  /** The graph has everything: what follows are changes. */
  complete(): void;
}

/** `isSaved`: what goes by before `complete` is what the store has already. */
export function stateTee(store: StateStore, isSaved: boolean): StateTee {
  const base = isSaved ? undefined : store.begin();
  let isComplete = false;
  let saved: Promise<void> = Promise.resolve();
  return {
    wrap: (next) => ({
      onStatusUpdated: (status) => next.onStatusUpdated(status),
      onUpdates(updates) {
        if (isComplete) store.append(updates);
        else if (base !== undefined) saved = base.write(updates);
        return next.onUpdates(updates);
      },
    }),
    whenSaved: () => saved,
    complete() {
      isComplete = true;
      void base?.done();
    },
  };
}
