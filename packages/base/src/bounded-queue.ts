import { assert } from "./assert.ts";

/**
 * A first-in, first-out queue with a bound. The producer asks `isFull` (or awaits `whenSpace`) before it pushes:
 * back-pressure, never loss.
 *
 * Invariant: `size <= capacity`; waiters exist only while the queue is full (space) or empty (items).
 */
export class BoundedQueue<T> {
  readonly capacity: number;
  #items: T[] = [];
  #head = 0;
  #spaceWaiters: (() => void)[] = [];
  #itemWaiters: (() => void)[] = [];

  constructor(capacity: number) {
    assert(capacity > 0, "A queue needs a capacity");
    this.capacity = capacity;
  }

  /** Items that wait. */
  get size(): number {
    return this.#items.length - this.#head;
  }

  get isFull(): boolean {
    return this.size >= this.capacity;
  }

  /** Appends an item. Pushing to a full queue is a bug. */
  push(item: T): void {
    assert(!this.isFull, () => `Queue over its bound of ${this.capacity}`);
    this.#items.push(item);
    wake(this.#itemWaiters);
  }

  /** Takes the oldest item, or `undefined` when there is none. */
  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined as T;
    this.#head++;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    wake(this.#spaceWaiters);
    return item;
  }

  /** Resolves when there is room for one more item. With several producers, check again after it. */
  whenSpace(): Promise<void> {
    if (!this.isFull) return Promise.resolve();
    return new Promise((resolve) => this.#spaceWaiters.push(resolve));
  }

  /** Resolves when there is an item. With several consumers, check again after it. */
  whenItem(): Promise<void> {
    if (this.size > 0) return Promise.resolve();
    return new Promise((resolve) => this.#itemWaiters.push(resolve));
  }
}

function wake(waiters: (() => void)[]): void {
  for (const waiter of waiters.splice(0)) waiter();
}
