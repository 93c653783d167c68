/**
 * A set that is mostly empty or holds one: the single element itself, or a Set of two and more. Keeps an index over
 * unique values (pod names) from costing a Set each.
 *
 * T must not be a Set itself.
 */
export type Bag<T extends object> = T | Set<T>;

/** Adds to the bag under `key`, making it if need be. */
export function addToBag<K, T extends object>(bags: Map<K, Bag<T>>, key: K, element: T): void {
  const bag = bags.get(key);
  const next = withElement(bag, element);
  if (next !== bag) bags.set(key, next);
}

/** Removes from the bag under `key`; an empty bag goes. */
export function removeFromBag<K, T extends object>(bags: Map<K, Bag<T>>, key: K, element: T): void {
  if (bags.has(key) && withoutElement(bags.get(key), element) === undefined) bags.delete(key);
}

export function bagSize(bag: Bag<object> | undefined): number {
  return bag === undefined ? 0 : bag instanceof Set ? bag.size : 1;
}

/** The bag with one element more. */
export function withElement<T extends object>(bag: Bag<T> | undefined, element: T): Bag<T> {
  if (bag === undefined || bag === element) return element;
  return bag instanceof Set ? bag.add(element) : new Set([bag, element]);
}

/** The bag without an element; `undefined` when it was the last. */
export function withoutElement<T extends object>(bag: Bag<T> | undefined, element: T): Bag<T> | undefined {
  if (!(bag instanceof Set)) return bag === element ? undefined : bag;
  bag.delete(element);
  return bag.size === 0 ? undefined : bag;
}

/** Calls back for each element. */
export function forEachIn<T extends object>(bag: Bag<T> | undefined, visit: (element: T) => void): void {
  if (bag instanceof Set) for (const element of bag) visit(element);
  else if (bag !== undefined) visit(bag);
}
