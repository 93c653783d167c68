import type { FleetClient } from "./fleet-client.ts";

/** Where sets are written: at once, or in their time. */
export interface SetWriter<Done extends void | Promise<void>> {
  /** `version` makes the contents. */
  set(name: string, version: number): Done;
  delete(name: string): Done;
}

/** Network sets in a store, and what every client should have been told of them once all is written. */
export class SetModel<Done extends void | Promise<void>> {
  readonly #store: SetWriter<Done>;
  readonly #wanted = new Map<string, string>();

  constructor(store: SetWriter<Done>) {
    this.#store = store;
  }

  set(name: string, version: number): Done {
    this.#wanted.set(pathOf(name), `v${version}`);
    return this.#store.set(name, version);
  }

  delete(name: string): Done {
    this.#wanted.delete(pathOf(name));
    return this.#store.delete(name);
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
