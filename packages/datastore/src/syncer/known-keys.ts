import { formatKey, type Key, type Update } from "@bulrush/model";
import type { ProcessedKV } from "../process/processor.ts";

interface Entry {
  readonly key: Key;
  /** Equal tags mean equal contents. */
  tag: string;
  /** The last value that was sent was a closed form. */
  isClosedForm: boolean;
  generation: number;
}

/** An update to send, "kept" when the last good value stays in force instead, or undefined when nothing changes. */
export type Applied = Update | "kept" | undefined;

/**
 * What a watcher cache has sent, without the values. It makes changes of states: an unchanged value is swallowed, and
 * so is the delete of an unknown key; after a full list, what the list did not have is deleted.
 *
 * Invariant: an entry for each key that is alive at the consumer; its generation is that of the last full list which
 * had it, or the present one.
 */
export class KnownKeys {
  readonly #entries = new Map<string, Entry>();
  #generation = 0;

  get size(): number {
    return this.#entries.size;
  }

  /** Takes the new state of a key. `isClosedForm`: it stands in for something unreadable. */
  apply(output: ProcessedKV, revision: string, isClosedForm: boolean): Applied {
    const { key, value, origin, isUnreadable = false } = output;
    const path = formatKey(key);
    const entry = this.#entries.get(path);
    if (isUnreadable) {
      if (entry === undefined) return undefined;
      entry.generation = this.#generation;
      return "kept";
    }
    if (value === undefined) {
      if (entry === undefined) return undefined;
      this.#entries.delete(path);
      return { key, path, value: undefined, revision, type: "deleted" };
    }
    // The revision says which contents only together with the item: two may share one (one etcd transaction).
    const tag = origin === undefined ? revision : `${origin.name} ${origin.revision}`;
    const sent = origin?.revision ?? revision;
    if (entry === undefined) {
      this.#entries.set(path, { key, tag, isClosedForm, generation: this.#generation });
      return { key, path, value, revision: sent, type: "new" };
    }
    entry.generation = this.#generation;
    if (isClosedForm && !entry.isClosedForm) return "kept";
    if (entry.tag === tag && entry.isClosedForm === isClosedForm) return undefined;
    entry.tag = tag;
    entry.isClosedForm = isClosedForm;
    return { key, path, value, revision: sent, type: "updated" };
  }

  /** A full list begins. Until it is finished every key stays. A list that fails is simply begun again. */
  startResync(): void {
    this.#generation++;
  }

  /** The full list was complete: deletes for what it did not have. */
  finishResync(revision: string): Update[] {
    return this.#deletes(revision, (entry) => entry.generation < this.#generation);
  }

  /** Deletes for everything. */
  clear(revision: string): Update[] {
    return this.#deletes(revision, () => true);
  }

  #deletes(revision: string, isGone: (entry: Entry) => boolean): Update[] {
    const out: Update[] = [];
    for (const [path, entry] of this.#entries) {
      if (!isGone(entry)) continue;
      this.#entries.delete(path);
      out.push({ key: entry.key, path, value: undefined, revision, type: "deleted" });
    }
    return out;
  }
}
