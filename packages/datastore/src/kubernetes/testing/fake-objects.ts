import { KINDS } from "@bulrush/model";

/** An object as the API server stores it. */
export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface StoredEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: StoredObject;
  readonly revision: number;
}

/** A list of the server: `/api/v1/pods`. */
export interface Collection {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

export function rootOf(apiVersion: string): string {
  return apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
}

/** Every list that the driver may ask for, in Calico's older group. */
export const COLLECTIONS: readonly Collection[] = KINDS.flatMap((facts): readonly Collection[] => {
  const { apiVersion, kind } = facts;
  if (apiVersion !== "projectcalico.org/v3") return [facts];
  // Native ones have a list of their own, the last one is the other group's name.
  if (["Node", "Profile", "WorkloadEndpoint", "LiveMigration", "IPAMConfiguration"].includes(kind)) return [];
  return [{ ...facts, apiVersion: "crd.projectcalico.org/v1" }];
});

/**
 * What the server stores, with one counter of revisions over all of it, and its history since the last compaction.
 *
 * Invariant: `#events` are all events with a revision above `#floor`, in order.
 */
export class FakeObjects {
  readonly #objects = new Map<string, Map<string, StoredObject>>();
  #events: { readonly root: string; readonly event: StoredEvent }[] = [];
  #floor = 0;
  #revision = 1;
  readonly #listeners = new Set<(root: string, event: StoredEvent) => void>();

  get revision(): number {
    return this.#revision;
  }

  /** Creates or replaces, and gives it a revision. */
  put(root: string, object: StoredObject): StoredObject {
    const known = this.#collection(root);
    const id = idOf(object);
    const before = known.get(id);
    const revision = ++this.#revision;
    const metadata = {
      uid: `00000000-0000-4000-8000-${String(revision).padStart(12, "0")}`,
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...object.metadata,
      ...(before !== undefined && {
        uid: before.metadata["uid"],
        creationTimestamp: before.metadata["creationTimestamp"],
      }),
      resourceVersion: String(revision),
    };
    const stored: StoredObject = { ...object, metadata };
    known.set(id, stored);
    this.#log(root, { type: before === undefined ? "ADDED" : "MODIFIED", object: stored, revision });
    return stored;
  }

  remove(root: string, namespace: string | undefined, name: string): StoredObject | undefined {
    const known = this.#collection(root);
    const id = idOf({ metadata: { name, ...(namespace !== undefined && { namespace }) } });
    const before = known.get(id);
    if (before === undefined) return undefined;
    known.delete(id);
    const revision = ++this.#revision;
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: String(revision) } };
    this.#log(root, { type: "DELETED", object, revision });
    return object;
  }

  /** In order of namespace and name. */
  list(root: string): readonly StoredObject[] {
    const entries = [...this.#collection(root).entries()];
    return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  /** Undefined when they are forgotten. */
  eventsAfter(root: string, revision: number): readonly StoredEvent[] | undefined {
    if (revision < this.#floor) return undefined;
    return this.#events
      .filter((entry) => entry.root === root && entry.event.revision > revision)
      .map(({ event }) => event);
  }

  /** Forgets the history: what asks for an older revision gets 410. */
  compact(): void {
    this.#floor = this.#revision;
    this.#events = [];
  }

  /** Calls back for each event, until the function that it returns is called. */
  onEvent(listener: (root: string, event: StoredEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #collection(root: string): Map<string, StoredObject> {
    let known = this.#objects.get(root);
    if (known === undefined) this.#objects.set(root, (known = new Map()));
    return known;
  }

  #log(root: string, event: StoredEvent): void {
    this.#events.push({ root, event });
    for (const listener of this.#listeners) listener(root, event);
  }
}

function idOf({ metadata: { namespace = "", name } }: Pick<StoredObject, "metadata">): string {
  return `${namespace}/${name}`;
}
