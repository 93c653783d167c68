import type { Clock } from "@bulrush/base";
import type { Update } from "@bulrush/model";
import { createSyncClient, type ServerAddress, type SyncClient, type TLSSource } from "@bulrush/sync-client";

export interface FleetClientOptions {
  readonly name: string;
  readonly servers: () => readonly ServerAddress[];
  readonly tls: TLSSource;
  readonly clock: Clock;
  readonly random: () => number;
  /** Asked at each delete that is handed over: whether the key is there, and the delete a mistake. */
  readonly exists: (path: string) => boolean;
}

/**
 * An agent without a kernel: a real sync client, and what an agent's graph would have been told.
 *
 * Invariant: `#versions` holds what was handed over: of each key the label that makes its contents.
 */
export class FleetClient {
  readonly client: SyncClient;
  readonly #versions = new Map<string, string>();
  /** Updates that were handed over since `forget`. */
  updates = 0;
  /** Deletes of keys that were there. */
  wrongDeletes = 0;
  isInSync = false;

  constructor(options: FleetClientOptions) {
    const { name, servers, tls, clock, random, exists } = options;
    this.client = createSyncClient({
      servers: () => Promise.resolve(servers()),
      tls,
      hostname: name,
      info: "fleet",
      syncer: "felix",
      clock,
      random,
      backoffInitialMs: 200,
      backoffMaxMs: 2000,
      staleLeaveMs: 5000,
      callbacks: {
        onUpdates: (updates) => this.#onUpdates(updates, exists),
        onStatusUpdated: (status) => {
          this.isInSync = status === "in-sync";
        },
        onSequence: (sequence) => this.client.ack(sequence),
      },
    });
    this.client.start();
  }

  get versions(): ReadonlyMap<string, string> {
    return this.#versions;
  }

  forget(): void {
    this.updates = 0;
  }

  #onUpdates(updates: readonly Update[], exists: (path: string) => boolean): void {
    this.updates += updates.length;
    for (const { path, value } of updates) {
      if (value !== undefined) this.#versions.set(path, versionOf(value));
      else {
        if (exists(path)) this.wrongDeletes++;
        this.#versions.delete(path);
      }
    }
  }
}

function versionOf(value: unknown): string {
  const { labels } = value as { readonly labels?: ReadonlyMap<string, string> };
  return labels?.get("version") ?? "none";
}
