import { Listeners } from "./listeners.ts";

/** A network interface of this host, by the name under which the rest of the dataplane knows it. */
export interface Interface {
  readonly name: string;
  readonly index: number;
  /** Operationally up. */
  readonly up: boolean;
  /** Addresses without length, canonical. Invariant: never changed in place. */
  readonly addresses: ReadonlySet<string>;
}

/** What the interface monitor knows of the moment: one writer, several readers. */
export class Interfaces {
  /** A name whose interface came, went or changed. */
  readonly onChange: Listeners<string> = new Listeners();
  readonly #byName = new Map<string, Interface>();

  get(name: string): Interface | undefined {
    return this.#byName.get(name);
  }

  all(): Iterable<Interface> {
    return this.#byName.values();
  }

  /** Stores what is known of a name now; `undefined` when it is gone. No notice when nothing changed. */
  put(name: string, current: Interface | undefined): void {
    const before = this.#byName.get(name);
    if (current === undefined ? before === undefined : before !== undefined && sameInterface(before, current)) return;
    if (current === undefined) this.#byName.delete(name);
    else this.#byName.set(name, current);
    this.onChange.notify(name);
  }
}

function sameInterface(a: Interface, b: Interface): boolean {
  return (
    a.index === b.index &&
    a.up === b.up &&
    a.addresses.size === b.addresses.size &&
    [...a.addresses].every((address) => b.addresses.has(address))
  );
}
