import type { SyncerType } from "@bulrush/proto";
import type { Breadcrumb } from "./breadcrumb.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Difference } from "./snapshot-cache.ts";

/** What a sync server needs of a cache: the cache itself, or its mirror in another thread. */
export interface ServedCache {
  readonly syncer: SyncerType;
  readonly epoch: string;
  /** The newest breadcrumb. */
  readonly head: Breadcrumb;
  /** It has held all that the source has, at least once. */
  readonly wasInSync: boolean;
  /** The breadcrumb of this sequence while it is retained. The head always is. */
  at(sequence: number): Breadcrumb | undefined;
  /**
   * A mirror may be a moment behind the cache, and a client that comes from another one ahead of it: resolves once the chain
   * goes up to `sequence`, or at once where the cache has not come so far itself.
   */
  reach?(sequence: number): Promise<void>;
  /**
   * The snapshot of a recent breadcrumb of this chain; with `newest` of none before the cache's present head. The caller
   * releases it once it has been read.
   */
  snapshot(newest?: boolean): Promise<Snapshot>;
  release(snapshot: Snapshot): void;
  /** What a client with these digests has to be sent; undefined where the whole snapshot serves it as well. */
  difference(digests: string): Promise<Difference | undefined>;
  /** Calls `listener` with the head after each change. Gives the function that ends it. */
  onPublish(listener: (head: Breadcrumb) => void): () => void;
}
