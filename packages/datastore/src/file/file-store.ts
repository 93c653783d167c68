import { hash } from "node:crypto";
import type { Item, ItemKey, WatchEvent } from "../driver/driver.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import type { PlacedItem } from "../manifest/items.ts";
import type { ConvertedItem } from "../manifest/to-item.ts";

interface Stored {
  readonly item: Item;
  readonly hash: string;
}

interface Logged {
  readonly revision: number;
  readonly event: WatchEvent;
}

/** Events kept of each kind for watches that lag. */
const MAX_EVENTS_A_KIND = 10_000;

/**
 * Items with revisions made from contents: one counter, moved by each item that changed. What did not change keeps its
 * revision, however often it is read. Keeps the latest events of each kind.
 *
 * Invariant: the events of a kind after `#floors[kind]` are all in its log, in order of revision.
 */
export class FileStore {
  readonly #items = new Map<DatastoreKind, Map<string, Stored>>();
  readonly #logs = new Map<DatastoreKind, Logged[]>();
  readonly #floors = new Map<DatastoreKind, number>();
  readonly #listeners = new Set<() => void>();
  readonly #hashes = new WeakMap<ConvertedItem, string>();
  /** 1, not 0: "0" means "from the beginning" to a reader. */
  #revision = 1;

  /** Text, because revisions are opaque to readers. */
  get revision(): string {
    return String(this.#revision);
  }

  /** Takes the whole new state, in which no key stands twice. Returns how many items changed. */
  replaceAll(items: Iterable<PlacedItem>): number {
    const next = new Map<DatastoreKind, Map<string, Stored>>();
    let changes = 0;
    for (const { item, source } of items) {
      const id = idOf(item);
      let ofKind = next.get(item.kind);
      if (ofKind === undefined) next.set(item.kind, (ofKind = new Map()));
      const known = this.#items.get(item.kind)?.get(id);
      const hash = this.#hashOf(item);
      if (known?.hash === hash) {
        ofKind.set(id, known);
        continue;
      }
      changes++;
      const revision = String(++this.#revision);
      const stored: Item = {
        kind: item.kind,
        namespace: item.namespace,
        name: item.name,
        revision,
        value: item.value,
        subject: item.subject,
        ...(item.issues.length > 0 && { issues: item.issues }),
        ...(source !== undefined && { source }),
      };
      ofKind.set(id, { item: stored, hash });
      this.#log(item.kind, { type: known === undefined ? "added" : "modified", item: stored });
    }
    for (const [kind, ofKind] of this.#items) {
      for (const [id, { item }] of ofKind) {
        if (next.get(kind)?.has(id) === true) continue;
        changes++;
        const key: ItemKey = { kind, namespace: item.namespace, name: item.name };
        this.#revision++;
        this.#log(kind, { type: "deleted", item: key, revision: this.revision });
      }
    }
    this.#items.clear();
    for (const [kind, ofKind] of next) this.#items.set(kind, ofKind);
    if (changes > 0) for (const listener of this.#listeners) listener();
    return changes;
  }

  list(kind: DatastoreKind): Item[] {
    return [...(this.#items.get(kind)?.values() ?? [])].map((stored) => stored.item);
  }

  /** The events after `revision`, at most `limit`; undefined when some of them are no longer kept. */
  eventsAfter(kind: DatastoreKind, revision: number, limit: number): readonly WatchEvent[] | undefined {
    if (revision < (this.#floors.get(kind) ?? 0)) return undefined;
    const log = this.#logs.get(kind) ?? [];
    let start = log.length;
    while (start > 0 && (log[start - 1]?.revision ?? 0) > revision) start--;
    return log.slice(start, start + limit).map((logged) => logged.event);
  }

  /** Calls back after each change, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #log(kind: DatastoreKind, event: WatchEvent): void {
    let log = this.#logs.get(kind);
    if (log === undefined) this.#logs.set(kind, (log = []));
    log.push({ revision: this.#revision, event });
    if (log.length <= 2 * MAX_EVENTS_A_KIND) return;
    const dropped = log.splice(0, log.length - MAX_EVENTS_A_KIND);
    this.#floors.set(kind, dropped.at(-1)?.revision ?? 0);
  }

  #hashOf(item: ConvertedItem): string {
    const known = this.#hashes.get(item);
    if (known !== undefined) return known;
    const made = hash("sha256", JSON.stringify([item.value ?? null, item.issues]), "base64");
    this.#hashes.set(item, made);
    return made;
  }
}

function idOf({ namespace, name }: ConvertedItem): string {
  return `${namespace}/${name}`;
}
