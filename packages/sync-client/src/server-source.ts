import type { ServerAddress } from "./server-address.ts";

/** Where the servers to choose from come from. */
export interface ServerSource {
  /** The servers as they are now. Called before each choice. */
  list(): Promise<readonly ServerAddress[]>;
  /** Calls `changed` when `list` would give something else. Returns how to end that. */
  follow?(changed: () => void): () => void;
}

export type Servers = readonly ServerAddress[] | (() => Promise<readonly ServerAddress[]>) | ServerSource;

/** All forms as one. */
export function toServerSource(servers: Servers): ServerSource {
  if (typeof servers === "function") return { list: servers };
  return "list" in servers ? servers : { list: () => Promise.resolve(servers) };
}
