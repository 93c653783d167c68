import { must } from "@bulrush/base";
import type { SyncStatus } from "@bulrush/model";
import { BucketDigests, bucketCountFor, bucketOf, hashValue, type KV } from "@bulrush/proto";

/** A change to hand over: the type follows from what was handed over before. */
export interface BufferedUpdate {
  readonly path: string;
  /** undefined: the key is gone. */
  readonly value: unknown;
  readonly revision: string;
  readonly type: "new" | "updated" | "deleted";
}

/** What comes next: updates, or a status and a mark for all that came before them. */
export type BufferedStep =
  | { readonly type: "updates"; readonly updates: readonly BufferedUpdate[] }
  | { readonly type: "control"; readonly status: SyncStatus | undefined; readonly mark: number | undefined };

/** The buckets that a server sends, where it sends some alone; of `count` in all. */
export interface BucketScope {
  readonly buckets: readonly number[];
  readonly count: number;
}

/** A key whose wanted value differs from the one handed over. */
interface PendingKV {
  readonly kind: "kv";
  readonly path: string;
  value: unknown;
  /** Of the value; undefined where the key is gone. */
  hash: string | undefined;
  revision: string;
  /** The control that stood last when this was queued: a KV never moves past one. */
  readonly after: Control | undefined;
}

interface Control {
  readonly kind: "control";
  readonly key: string;
  status: SyncStatus | undefined;
  mark: number | undefined;
  /** Queued KVs between this and the next control. */
  kvsAfter: number;
  /** The neighbours that are still queued. */
  previous: Control | undefined;
  next: Control | undefined;
  isTaken: boolean;
}

/**
 * Stands between a stream of KVs and a consumer that may be slower: one place per key, in order of first arrival, the
 * newest value in it. A value equal to the one that was handed over cancels itself out, so that a new snapshot from
 * another server hands over only what really differs; a key made and removed in between vanishes. Keys that a new
 * snapshot does not have, or that are deleted after it, are removed when the server is in sync, and not before.
 *
 * ```
 *  KVs ----> [ kv a | kv b | control {resync, mark 6} | kv c | control {in-sync, mark 7} ] ----> take()
 *                ^ newest value, old place                        ^ neighbours merge
 * ```
 *
 * Memory: for each key that exists, its path and 16 bytes of hash in place of its value (a comparison by value would
 * hold every endpoint of the cluster a second time); for each that waits, its value.
 *
 * Invariant: a key is in `#queue` only while its wanted value differs from `#delivered`. Two controls never stand
 * beside each other, so that the queue has at most one more control than KVs. `#digests` and `#heldKeys` are of the
 * wanted values.
 */
export class DedupeBuffer {
  /** Hash of what was handed over, by path. */
  readonly #delivered = new Map<string, string>();
  /** KVs by path, controls by a key that is no path. Insertion order is the order of handing over. */
  readonly #queue = new Map<string, PendingKV | Control>();
  readonly #digests: BucketDigests = new BucketDigests();
  #heldKeys = 0;
  /** Over `#queue`; kept, as a new one would have to skip what was removed before. */
  #cursor: MapIterator<[string, PendingKV | Control]> | undefined;
  /** A control that the cursor has passed and that is still queued. */
  #passed: Control | undefined;
  #pendingKVs = 0;
  #controlNumber = 0;
  /** The last control that is queued. */
  #lastControl: Control | undefined;
  /** What the consumer will have as its status when the queue is empty. */
  #status: SyncStatus = "wait-for-ready";
  #statusTaken: SyncStatus = "wait-for-ready";
  /**
   * Keys that the server whose snapshot this is has not shown, or has deleted since; undefined once it is in sync. They
   * are removed then.
   */
  #unseen: Set<string> | undefined;

  suppressedUpdates = 0;
  madeUpDeletes = 0;

  /** Keys that wait to be handed over. */
  get pendingKVs(): number {
    return this.#pendingKVs;
  }

  /** KVs and controls that are queued: at most twice the KVs and one. */
  get size(): number {
    return this.#queue.size;
  }

  /** Keys that are held: handed over or waiting, and those that a server not in sync has not shown. */
  get heldKeys(): number {
    return this.#heldKeys;
  }

  /** Digests of all that is held, in as many buckets as suit it; undefined where nothing is. */
  digests(): string | undefined {
    return this.#heldKeys === 0 ? undefined : this.#digests.encode(bucketCountFor(this.#heldKeys));
  }

  /**
   * The consumer has this value already, from elsewhere: it counts as handed over. For the time before any server is
   * heard.
   */
  hold(path: string, value: unknown): void {
    const hash = hashValue(path, value);
    this.#hold(path, hash);
    this.#delivered.set(unpinned(path), hash);
  }

  /**
   * The KVs that follow are a whole, from scratch; of some buckets alone with a scope, all others being as they are
   * held. What was queued stays: it is still the newest that is known.
   */
  startSnapshot(scope?: BucketScope): void {
    const unseen = new Set<string>();
    const named = scope === undefined ? undefined : new Set(scope.buckets);
    const isMeant = (path: string): boolean =>
      scope === undefined || named === undefined || named.has(bucketOf(path, scope.count));
    if (named?.size !== 0) {
      for (const path of this.#delivered.keys()) if (isMeant(path)) unseen.add(path);
      for (const [path, item] of this.#queue) if (item.kind === "kv" && isMeant(path)) unseen.add(path);
    }
    this.#unseen = unseen;
    // Where nothing differs, the server's own status is all that may be news.
    if (this.#status === "in-sync" && named?.size !== 0) this.#queueStatus("resync");
  }

  onKVs(kvs: readonly KV[]): void {
    // No KV comes while the consumer waits for the datastore to be ready.
    if (kvs.length > 0 && this.#status === "wait-for-ready") this.#queueStatus("resync");
    for (const { path, value, revision } of kvs) {
      if (value !== undefined) {
        this.#unseen?.delete(path);
        this.#set(path, value, revision);
      } else if (this.#unseen === undefined) this.#remove(path, revision);
      // Such a server may not know yet what it says is gone.
      else if (this.#delivered.has(path) || this.#queue.has(path)) this.#unseen.add(path);
    }
  }

  /** The server's status, after the KVs that it belongs to. */
  onStatus(status: SyncStatus): void {
    if (status === "in-sync") this.#removeUnseen();
    // A server that knows nothing yet takes nothing away from a consumer that has something.
    const known = this.#delivered.size > 0 || this.#pendingKVs > 0;
    const effective = status === "wait-for-ready" && known ? "resync" : status;
    if (effective !== this.#status) this.#queueStatus(effective);
  }

  /** Everything up to here is complete when the step with this mark is taken. Marks grow. */
  onMark(mark: number): void {
    this.#tailControl().mark = mark;
  }

  /** The next step, at most `maxUpdates` updates; undefined when there is none. It counts as handed over. */
  take(maxUpdates: number): BufferedStep | undefined {
    const updates: BufferedUpdate[] = [];
    while (updates.length < maxUpdates) {
      const item = this.#next();
      if (item === undefined) break;
      if (item.kind === "kv") {
        updates.push(this.#deliver(item));
        continue;
      }
      if (updates.length > 0) {
        this.#passed = item;
        break;
      }
      this.#unlink(item);
      const status = item.status === this.#statusTaken ? undefined : item.status;
      if (status !== undefined) this.#statusTaken = status;
      if (status !== undefined || item.mark !== undefined) return { type: "control", status, mark: item.mark };
    }
    return updates.length === 0 ? undefined : { type: "updates", updates };
  }

  #set(path: string, value: unknown, revision: string): void {
    const hash = hashValue(path, value);
    this.#hold(path, hash);
    if (this.#delivered.get(path) === hash) {
      this.suppressedUpdates++;
      this.#cancel(path);
    } else this.#enqueue(path, value, hash, revision);
  }

  #remove(path: string, revision: string): void {
    this.#hold(path, undefined);
    if (this.#delivered.has(path)) this.#enqueue(path, undefined, undefined, revision);
    else this.#cancel(path);
  }

  /** The wanted value of a key becomes the one with this hash. Call before the queue knows. */
  #hold(path: string, hash: string | undefined): void {
    const queued = this.#queue.get(path);
    const before = queued?.kind === "kv" ? queued.hash : this.#delivered.get(path);
    if (before === hash) return;
    if (before === undefined) this.#heldKeys++;
    else this.#digests.remove(path, before);
    if (hash === undefined) this.#heldKeys--;
    else this.#digests.add(path, hash);
  }

  #removeUnseen(): void {
    const unseen = this.#unseen;
    if (unseen === undefined) return;
    this.#unseen = undefined;
    for (const path of unseen) {
      if (this.#delivered.has(path)) this.madeUpDeletes++;
      this.#remove(path, "");
    }
  }

  #enqueue(path: string, value: unknown, hash: string | undefined, revision: string): void {
    const queued = this.#queue.get(path);
    if (queued?.kind === "kv") {
      if (hash !== undefined && queued.hash === hash) this.suppressedUpdates++;
      queued.value = value;
      queued.hash = hash;
      queued.revision = revision;
      return;
    }
    const after = this.#lastControl;
    const key = unpinned(path);
    this.#queue.set(key, { kind: "kv", path: key, value, hash, revision, after });
    this.#pendingKVs++;
    if (after !== undefined) after.kvsAfter++;
  }

  /** The wanted value is the one handed over: nothing is left to do for this key. */
  #cancel(path: string): void {
    const queued = this.#queue.get(path);
    if (queued?.kind !== "kv") return;
    this.#queue.delete(path);
    this.#pendingKVs--;
    const control = queued.after;
    if (control === undefined || control.isTaken) return;
    control.kvsAfter--;
    if (control.kvsAfter > 0 || control.next === undefined) return;
    // Two controls would stand side by side: the later one takes over what only the earlier one says.
    control.next.status ??= control.status;
    control.next.mark ??= control.mark;
    this.#unlink(control);
  }

  #queueStatus(status: SyncStatus): void {
    this.#status = status;
    this.#tailControl().status = status;
  }

  /** The control at the end of the queue; made if a KV stands there. */
  #tailControl(): Control {
    const last = this.#lastControl;
    if (last?.kvsAfter === 0) return last;
    this.#controlNumber++;
    const control: Control = {
      kind: "control",
      key: `#${this.#controlNumber}`,
      status: undefined,
      mark: undefined,
      kvsAfter: 0,
      previous: last,
      next: undefined,
      isTaken: false,
    };
    if (last !== undefined) last.next = control;
    this.#queue.set(control.key, control);
    this.#lastControl = control;
    return control;
  }

  #unlink(control: Control): void {
    control.isTaken = true;
    this.#queue.delete(control.key);
    const { previous, next } = control;
    if (previous !== undefined) previous.next = next;
    if (next !== undefined) next.previous = previous;
    else this.#lastControl = previous;
    if (this.#passed === control) this.#passed = undefined;
  }

  /** The first item of the queue, behind which the cursor moves. */
  #next(): PendingKV | Control | undefined {
    if (this.#passed !== undefined) {
      const control = this.#passed;
      this.#passed = undefined;
      return control;
    }
    if (this.#queue.size === 0) {
      this.#cursor = undefined;
      return undefined;
    }
    const next = this.#cursor?.next();
    if (next?.done === false) return next.value[1];
    // An iterator that reached its end stays there.
    this.#cursor = this.#queue.entries();
    const first: IteratorResult<[string, PendingKV | Control], undefined> = this.#cursor.next();
    return must(first.value, "a first item of a queue that is not empty")[1];
  }

  #deliver(item: PendingKV): BufferedUpdate {
    const { path, value, revision, hash } = item;
    this.#queue.delete(path);
    this.#pendingKVs--;
    if (item.after !== undefined) item.after.kvsAfter--;
    if (hash === undefined) {
      this.#delivered.delete(path);
      return { path, value: undefined, revision, type: "deleted" };
    }
    const type = this.#delivered.has(path) ? "updated" : "new";
    this.#delivered.set(path, hash);
    return { path, value, revision, type };
  }
}

/**
 * A copy that owns its characters. A decoder may cut strings out of a larger one, which then lives as long as the
 * smallest of them; paths live as long as the key.
 */
function unpinned(path: string): string {
  return Buffer.from(path, "utf8").toString("utf8");
}
