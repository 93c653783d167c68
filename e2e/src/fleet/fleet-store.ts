import type { DatastoreDriver } from "@bulrush/datastore";

/** One server's way to the store. */
export interface StoreLink {
  open(): Promise<DatastoreDriver>;
  /** Nothing comes through any more, and nobody says so. */
  cut(): void;
  /** All is well again; what was open has ended. */
  mend(): void;
  /** Its server has ended. */
  close(): void;
}

/** Network sets that many servers read, each on its own way. */
export interface FleetStore {
  has(name: string): boolean;
  link(): Promise<StoreLink>;
}
