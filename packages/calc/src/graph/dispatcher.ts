import type { Key, KeyType, SyncStatus, Update, ValueOf } from "@bulrush/model";

type KeyOf<T extends KeyType> = Extract<Key, { readonly type: T }>;
type Handler = (update: Update) => void;

/**
 * Gives each update to the nodes that asked for its type of key, in the order in which they asked. A value of
 * `undefined` means that the key does not exist: nodes trust that, never the type of update.
 */
export class Dispatcher {
  readonly #handlers = new Map<KeyType, Handler[]>();
  readonly #statusHandlers: ((status: SyncStatus) => void)[] = [];

  on<T extends KeyType>(
    type: T,
    handler: (key: KeyOf<T>, value: ValueOf[T] | undefined, path: string, update: Update) => void,
  ): void {
    const list = this.#handlers.get(type) ?? [];
    // The key type picks the handler, so key and value are of its type.
    list.push((update) => handler(update.key as KeyOf<T>, update.value as ValueOf[T] | undefined, update.path, update));
    this.#handlers.set(type, list);
  }

  onStatus(handler: (status: SyncStatus) => void): void {
    this.#statusHandlers.push(handler);
  }

  dispatch(update: Update): void {
    const handlers = this.#handlers.get(update.key.type);
    if (handlers !== undefined) for (const handler of handlers) handler(update);
  }

  dispatchStatus(status: SyncStatus): void {
    for (const handler of this.#statusHandlers) handler(status);
  }
}
