import type { Update } from "@bulrush/model";
import { hashValue } from "@bulrush/proto";
import type { Held, SourceCallbacks } from "./source.ts";

/**
 * Stands between a source that tells everything from the start and an agent that holds what it saved: what is held as it
 * is told is not told again, and what the source does not have is deleted when it is in sync, and not before.
 *
 * Invariant: until in-sync, `unseen` holds the updates of the held keys that were not told yet.
 */
export function withoutHeld(next: SourceCallbacks, held: Held): SourceCallbacks {
  let unseen: Map<string, { readonly hash: string; readonly update: Update }> | undefined = new Map();
  for (const update of held.updates)
    unseen.set(update.path, { hash: hashValue(update.path, update.value), update: { ...update, value: undefined } });

  const news = (update: Update): readonly Update[] => {
    const known = unseen?.get(update.path);
    if (known === undefined) return [update];
    unseen?.delete(update.path);
    if (update.value === undefined) return [update];
    return hashValue(update.path, update.value) === known.hash ? [] : [{ ...update, type: "updated" }];
  };

  return {
    onSequence: (sequence) => next.onSequence(sequence),
    async onUpdates(updates) {
      const told = unseen === undefined ? updates : updates.flatMap(news);
      if (told.length > 0) await next.onUpdates(told);
    },
    async onStatusUpdated(status) {
      if (status === "in-sync" && unseen !== undefined) {
        const gone = [...unseen.values()].map(({ update }): Update => ({ ...update, type: "deleted" }));
        unseen = undefined;
        if (gone.length > 0) await next.onUpdates(gone);
      }
      await next.onStatusUpdated(status);
    },
  };
}
