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
  if (bag === undefined) bags.set(key, element);
  else if (bag instanceof Set) bag.add(element);
  else if (bag !== element) bags.set(key, new Set([bag, element]));
}

/** Removes from the bag under `key`; an empty bag goes. */
export function removeFromBag<K, T extends object>(bags: Map<K, Bag<T>>, key: K, element: T): void {
  const bag = bags.get(key);
  if (bag === undefined) return;
  if (bag instanceof Set) {
    bag.delete(element);
    if (bag.size === 0) bags.delete(key);
  } else if (bag === element) bags.delete(key);
}

export function bagSize(bag: Bag<object> | undefined): number {
  return bag === undefined ? 0 : bag instanceof Set ? bag.size : 1;
}
