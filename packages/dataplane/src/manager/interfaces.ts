import { Listeners } from "./listeners.ts";

/** A network interface of this host, by the name under which the rest of the dataplane knows it. */
export interface Interface {
  readonly name: string;
  readonly index: number;
  /** Operationally up. */
  readonly up: boolean;
  readonly mtu: number;
  /** Addresses without length, canonical. Invariant: never changed in place. */
  readonly addresses: ReadonlySet<string>;
}

/** What the interface monitor knows of the moment: one writer, several readers. */
export class Interfaces {
  /** A name whose interface came, went or changed. */
  readonly onChange: Listeners<string> = new Listeners();
  readonly #byName = new Map<string, Interface>();
  /** Invariant: holds the interfaces of `#byName`; in a rename the new name may come before the old one goes. */
  readonly #byIndex = new Map<number, Interface>();

  get(name: string): Interface | undefined {
    return this.#byName.get(name);
  }

  byIndex(index: number): Interface | undefined {
    return this.#byIndex.get(index);
  }

  all(): Iterable<Interface> {
    return this.#byName.values();
  }

  /** Stores what is known of a name now; `undefined` when it is gone. No notice when nothing changed. */
  put(name: string, current: Interface | undefined): void {
    const before = this.#byName.get(name);
    if (current === undefined ? before === undefined : before !== undefined && sameInterface(before, current)) return;
    if (before !== undefined && this.#byIndex.get(before.index) === before) this.#byIndex.delete(before.index);
    if (current === undefined) this.#byName.delete(name);
    else {
      this.#byName.set(name, current);
      this.#byIndex.set(current.index, current);
    }
    this.onChange.notify(name);
  }
}

function sameInterface(a: Interface, b: Interface): boolean {
  return (
    a.index === b.index &&
    a.up === b.up &&
    a.mtu === b.mtu &&
    a.addresses.size === b.addresses.size &&
    [...a.addresses].every((address) => b.addresses.has(address))
  );
}
