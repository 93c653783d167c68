/** Calls back everybody who asked, in the order in which they asked. */
export class Listeners<T> {
  readonly #callbacks: ((value: T) => void)[] = [];

  add(callback: (value: T) => void): void {
    this.#callbacks.push(callback);
  }

  notify(value: T): void {
    for (const callback of this.#callbacks) callback(value);
  }
}
