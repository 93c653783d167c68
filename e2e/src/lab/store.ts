import { convertResources } from "@bulrush/datastore";
import type { Resource, Update } from "@bulrush/model";

/** What a store was made to hold. */
export interface Stored {
  /** The KVs that a felix syncer on it sends. */
  readonly updates: readonly Update[];
  /** What could not be kept or read, in words. */
  readonly problems: readonly string[];
}

/** Where a lab keeps its resources, and how Typha finds them. */
export interface LabStore {
  /** Typha's settings for it. */
  readonly typhaEnv: Readonly<Record<string, string>>;
  /** Makes the store hold exactly these, and what every store has. Calls do not overlap. */
  sync(resources: readonly Resource[]): Promise<Stored>;
  /** Ends what was started for it. */
  stop(): Promise<void>;
}

/** The directory itself, in which whoever edits it is ahead of `sync`. */
export function directoryStore(directory: string): LabStore {
  return {
    typhaEnv: { DATASTORE_TYPE: "file", BULRUSH_DATASTORE_DIR: directory },
    sync: (resources) => {
      const { updates, problems } = convertResources(resources);
      return Promise.resolve({ updates, problems: problems.map(({ message }) => message) });
    },
    stop: () => Promise.resolve(),
  };
}
