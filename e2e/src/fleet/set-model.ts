import type { FleetClient } from "./fleet-client.ts";
import type { MemoryStore } from "./memory-store.ts";

/** Network sets in a store, and what every client should have been told of them in the end. */
export class SetModel {
  readonly #store: Pick<MemoryStore, "set" | "delete">;
  readonly #wanted = new Map<string, string>();

  constructor(store: Pick<MemoryStore, "set" | "delete">) {
    this.#store = store;
  }

  set(name: string, version: number): void {
    this.#store.set(name, version);
    this.#wanted.set(pathOf(name), `v${version}`);
  }

  delete(name: string): void {
    this.#store.delete(name);
    this.#wanted.delete(pathOf(name));
  }

  /** True when of network sets a client was told exactly these. */
  isHeldBy(client: FleetClient): boolean {
    let count = 0;
    for (const [path, version] of client.versions) {
      if (!path.startsWith(PREFIX)) continue;
      if (this.#wanted.get(path) !== version) return false;
      count++;
    }
    return count === this.#wanted.size;
  }
}

const PREFIX = "/calico/v1/netset/";

function pathOf(name: string): string {
  return `${PREFIX}${name}`;
}
