import type { SyncerType, SyncStatus, UpdateType } from "@bulrush/model";
import type { MemorySample } from "./memory-rule.ts";

/** What the process of the syncers is told at its start. */
export interface SyncerSettings {
  readonly kubeconfig: string;
  /** Where the API server is for them: a proxy. */
  readonly server: string;
  readonly watchIdleTimeoutMs: number;
  readonly seed: number;
  readonly drivers: readonly { readonly listMode: "auto" | "paged" }[];
  readonly syncers: readonly {
    /** For messages. */
    readonly name: string;
    readonly type: SyncerType;
    /** Which of the drivers. */
    readonly driver: number;
  }[];
}

/** Key, type, and unless it is a delete a hash of the contents and the mark of the write, where it has one. */
export type TransportedUpdate = readonly [
  path: string,
  type: UpdateType,
  hash?: string,
  mark?: number | null | undefined,
];

export type FromSyncers =
  | { readonly type: "status"; readonly syncer: number; readonly status: SyncStatus }
  | { readonly type: "updates"; readonly syncer: number; readonly updates: readonly TransportedUpdate[] }
  | { readonly type: "memory"; readonly memory: MemorySample }
  /** For each syncer what is not in order. */
  | { readonly type: "report"; readonly reports: readonly (readonly string[])[] };

export type ToSyncers = { readonly type: "memory" | "report" | "stop" };
