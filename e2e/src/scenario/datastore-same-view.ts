import { isDeepStrictEqual } from "node:util";
import type { Clock } from "@bulrush/base";
import { createSyncer, type DatastoreDriver, type Syncer } from "@bulrush/datastore";
import { plainValue, type SyncerType, type SyncStatus } from "@bulrush/model";
import { contentsOf } from "../lab/contents.ts";
import type { State } from "./datastore-same-modes.ts";

/** A syncer that is compared, and whose node's it is where it is one node's. */
export interface ViewType {
  readonly type: SyncerType;
  readonly nodeName: string;
}

export const VIEW_TYPES: readonly ViewType[] = [
  { type: "felix", nodeName: "" },
  { type: "bgp", nodeName: "" },
  { type: "bgp", nodeName: "host-a" },
  { type: "tunnel-ip-allocation", nodeName: "" },
  { type: "tunnel-ip-allocation", nodeName: "host-b" },
  { type: "node-status", nodeName: "" },
];

export function viewName({ type, nodeName }: ViewType): string {
  return nodeName === "" ? type : `${type} of ${nodeName}`;
}

/** What a client of a syncer knows, without what only the store can know. */
export class View {
  readonly #state = new Map<string, unknown>();
  readonly #syncer: Syncer;
  #status: SyncStatus = "wait-for-ready";

  constructor(driver: DatastoreDriver, clock: Clock, { type, nodeName }: ViewType) {
    this.#syncer = createSyncer(type, {
      driver,
      clock,
      nodeName,
      callbacks: {
        onStatusUpdated: (status) => void (this.#status = status),
        onUpdates: (updates) => {
          for (const { path, value } of updates) {
            if (value === undefined) this.#state.delete(path);
            else this.#state.set(path, contentsOf(plainValue(value)));
          }
        },
      },
    });
    this.#syncer.start();
  }

  get isInSync(): boolean {
    return this.#status === "in-sync";
  }

  get state(): State {
    return this.#state;
  }

  stop(): Promise<void> {
    return this.#syncer.stop();
  }
}

/** What differs, in words, at most so many. */
export function differencesOf(found: State, expected: State, limit = 10): string[] {
  const out: string[] = [];
  for (const [path, value] of expected) {
    if (!found.has(path)) out.push(`missing: ${path}`);
    else if (!isDeepStrictEqual(found.get(path), value))
      out.push(`${path} is\n    ${JSON.stringify(found.get(path))}\n  and not\n    ${JSON.stringify(value)}`);
    if (out.length >= limit) return out;
  }
  for (const path of found.keys()) {
    if (!expected.has(path)) out.push(`too much: ${path}`);
    if (out.length >= limit) return out;
  }
  return out;
}
