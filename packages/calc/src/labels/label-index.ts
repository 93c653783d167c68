import { assert } from "@bulrush/base";
import { addToBag, bagSize, forEachIn, removeFromBag, withElement, withoutElement } from "./bag.ts";
import {
  hasMatch,
  type IndexedItem,
  type IndexedSelector,
  KeyIndex,
  LabelParent,
  type MatchSet,
  NO_MATCHES,
  NO_PARENTS,
  type RequiredTerm,
  withMatch,
  withoutMatch,
} from "./indexed.ts";
import { type LabelSet, NO_LABELS, sameLabels } from "./label-set.ts";
import { matches } from "./match-node.ts";
import type { ProfileLabels } from "./profile-labels.ts";
import { SelectorFile } from "./selector-file.ts";

/** Told of matches as they start and stop. It must not call back into the index. */
export interface MatchListener<I, S> {
  onMatchStarted(selector: S, item: I): void;
  onMatchStopped(selector: S, item: I): void;
}

/** A scan of so few items is not worth an index. */
const SMALL_SCAN = 64;
/** Key indexes kept though no selector uses them now: selectors come and go with their policies. */
const MAX_IDLE_KEYS = 16;

/**
 * Which selectors match which items, kept up to date. Items have labels and inherit those of their profiles.
 *
 * An item finds its candidates through the {@link SelectorFile}; a new selector finds its own through an index by label
 * value. That index exists only for labels that selectors were found through: most labels of most endpoints are never
 * asked for.
 *
 * ```
 *   setItem ----> labels, inherited labels --> SelectorFile --> candidates --> evaluate --> starts, stops
 *   onProfileChanged --> its children, each as above
 *   addSelectors -> cheapest required term --> KeyIndex ------> candidates --> evaluate --> starts
 *                                              (own values, and profiles' values -> children)
 * ```
 *
 * Invariant: `#parents` holds the profiles that an item has, with the labels that the index was last told of.
 *
 * Invariant: `item.matches` holds exactly the selectors in the index that match it, and `selector.matchCount` is the
 * number of items that hold it, whenever no call is under way.
 */
export class LabelIndex<I extends IndexedItem<S>, S extends IndexedSelector> {
  readonly #listener: MatchListener<I, S>;
  readonly #items: ReadonlyMap<unknown, I>;
  readonly #profiles: ProfileLabels;
  readonly #parents = new Map<string, LabelParent>();
  readonly #file = new SelectorFile<S>();
  readonly #keyIndexes: (KeyIndex<I> | undefined)[] = [];
  /** Indexed keys without a user, oldest first. */
  readonly #idleKeys = new Set<number>();
  #run = 0;
  readonly #started: S[] = [];
  /** Selector evaluations so far, for the metrics. */
  evaluations = 0;

  /**
   * `items`: all items, kept by the owner: one is there before `setItem`, and leaves before or after `removeItem`.
   * `profiles`: changed by the owner, which then calls `onProfileChanged`.
   */
  constructor(listener: MatchListener<I, S>, items: ReadonlyMap<unknown, I>, profiles: ProfileLabels) {
    this.#listener = listener;
    this.#items = items;
    this.#profiles = profiles;
  }

  /** Adds an item or gives it new labels and profiles. Starts are told before stops. */
  setItem(item: I, labels: LabelSet, parentNames: readonly string[]): void {
    const isNew = !item.indexed;
    const sameOwn = sameLabels(item.labels, labels);
    const sameParents = sameNames(item.parents, parentNames);
    if (!isNew && sameOwn && sameParents) return;
    item.indexed = true;
    if (!sameOwn) {
      this.#indexOwn(item, false);
      item.labels = labels;
      this.#indexOwn(item, true);
    }
    if (!sameParents) this.#setParents(item, parentNames);
    this.#rematch(item);
  }

  removeItem(item: I): void {
    if (!item.indexed) return;
    item.indexed = false;
    this.#indexOwn(item, false);
    item.labels = NO_LABELS;
    this.#setParents(item, []);
    const old = item.matches;
    item.matches = NO_MATCHES;
    for (const selector of old) {
      selector.matchCount--;
      this.#listener.onMatchStopped(selector, item);
    }
  }

  /** Reads the labels of a profile again; none when it has gone: its items then inherit nothing from it. */
  onProfileChanged(name: string): void {
    const parent = this.#parents.get(name);
    if (parent === undefined) return;
    const labels = this.#profiles.get(name);
    if (sameLabels(parent.labels, labels)) return;
    this.#indexParent(parent, false);
    parent.labels = labels;
    this.#indexParent(parent, true);
    forEachIn(parent.children, (child) => this.#rematch(child as I));
  }

  addSelector(selector: S): void {
    this.addSelectors([selector]);
  }

  /** Adds many at once: labels that need an index are indexed in one pass over the items. */
  addSelectors(selectors: readonly S[]): void {
    const missing = new Set<number>();
    for (const selector of selectors) {
      this.#file.add(selector);
      const key = this.#keyToIndex(selector);
      if (key >= 0) missing.add(key);
    }
    this.#buildKeyIndexes(missing);
    for (const selector of selectors) {
      const term = this.#scanTerm(selector);
      if (term !== undefined) this.#useKey(selector, term.key);
      this.#scan(selector, term, true);
    }
    this.#evictIdleKeys();
  }

  removeSelector(selector: S): void {
    this.#file.remove(selector);
    if (selector.matchCount > 0) this.#scan(selector, this.#plan(selector), false);
    assert(selector.matchCount === 0, () => `Matches of selector ${selector.text} were not found`);
    this.#useKey(selector, -1);
    this.#evictIdleKeys();
  }

  /** Calls back for every item that the selector matches. */
  forEachMatch(selector: S, visit: (item: I) => void): void {
    if (selector.matchCount === 0) return;
    const run = ++this.#run;
    this.#candidates(selector, this.#plan(selector), (item) => {
      if (item.seenRun === run) return;
      item.seenRun = run;
      if (hasMatch(item.matches, selector)) visit(item);
    });
  }

  // ---- items

  #setParents(item: I, names: readonly string[]): void {
    for (const parent of item.parents) {
      parent.children = withoutElement(parent.children, item);
      if (parent.children === undefined && !names.includes(parent.name)) this.#dropParent(parent);
    }
    // Exactly as long as need be: an array that grew by pushes is not.
    if (names.length === 0) item.parents = NO_PARENTS;
    else if (names.length === 1) item.parents = [this.#addChild(names[0] as string, item)];
    else item.parents = names.map((name) => this.#addChild(name, item));
  }

  #addChild(name: string, item: I): LabelParent {
    let parent = this.#parents.get(name);
    if (parent === undefined) {
      parent = new LabelParent(name);
      parent.labels = this.#profiles.get(name);
      this.#parents.set(name, parent);
      this.#indexParent(parent, true);
    }
    parent.children = withElement(parent.children, item);
    return parent;
  }

  #dropParent(parent: LabelParent): void {
    this.#indexParent(parent, false);
    this.#parents.delete(parent.name);
  }

  /** Evaluates the item's candidates and tells what changed. */
  #rematch(item: I): void {
    const run = ++this.#run;
    const old = item.matches;
    for (const selector of old) selector.oldRun = run;
    const started = this.#started;
    started.length = 0;
    let kept = this.#consider(item, this.#file.unfiled, run);
    kept += this.#considerLabels(item, item.labels, run);
    for (const parent of item.parents) kept += this.#considerLabels(item, parent.labels, run);
    const oldSize = old instanceof Set ? old.size : old.length;
    if (started.length === 0 && kept === oldSize) return;
    this.#settle(item, old, run);
  }

  #settle(item: I, old: MatchSet<S>, run: number): void {
    const started = this.#started.slice();
    const stopped: S[] = [];
    for (const selector of old) if (selector.hitRun !== run) stopped.push(selector);
    let next: MatchSet<S> = old;
    for (const selector of stopped) next = withoutMatch(next, selector);
    for (const selector of started) next = withMatch(next, selector);
    item.matches = next;
    for (const selector of started) {
      selector.matchCount++;
      this.#listener.onMatchStarted(selector, item);
    }
    for (const selector of stopped) {
      selector.matchCount--;
      this.#listener.onMatchStopped(selector, item);
    }
  }

  #considerLabels(item: I, labels: LabelSet, run: number): number {
    let kept = 0;
    for (let i = 0; i < labels.length; i += 2) {
      const key = labels[i] as number;
      const byPresence = this.#file.underKey(key);
      if (byPresence === undefined) continue;
      if (byPresence.length > 0) kept += this.#consider(item, byPresence, run);
      const byValue = this.#file.underValue(key, labels[i + 1] as string);
      if (byValue !== undefined) kept += this.#consider(item, byValue, run);
    }
    return kept;
  }

  /** Evaluates each once a run; new matches go to `#started`. Returns how many old matches still hold. */
  #consider(item: I, selectors: readonly S[], run: number): number {
    let kept = 0;
    for (let i = 0; i < selectors.length; i++) {
      const selector = selectors[i] as S;
      if (selector.seenRun === run) continue;
      selector.seenRun = run;
      this.evaluations++;
      if (!matches(selector.node, item)) continue;
      selector.hitRun = run;
      if (selector.oldRun === run) kept++;
      else this.#started.push(selector);
    }
    return kept;
  }

  // ---- selectors

  /** Finds the items that match now, or (`start` false) those that hold it. */
  #scan(selector: S, term: RequiredTerm | undefined, start: boolean): void {
    if (selector.impossible) return;
    const run = ++this.#run;
    this.#candidates(selector, term, (item) => {
      if (item.seenRun === run) return;
      item.seenRun = run;
      if (start) {
        this.evaluations++;
        if (!matches(selector.node, item)) return;
        item.matches = withMatch(item.matches, selector);
        selector.matchCount++;
        this.#listener.onMatchStarted(selector, item);
      } else if (hasMatch(item.matches, selector)) {
        item.matches = withoutMatch(item.matches, selector);
        selector.matchCount--;
        this.#listener.onMatchStopped(selector, item);
      }
    });
  }

  /** Visits every item that the selector could match, some more than once. */
  #candidates(selector: S, term: RequiredTerm | undefined, visit: (item: I) => void): void {
    if (selector.impossible) return;
    const index = term === undefined ? undefined : this.#keyIndexes[term.key];
    if (term === undefined || index === undefined) {
      for (const item of this.#items.values()) if (item.indexed) visit(item);
      return;
    }
    const visitChildren = (parent: LabelParent): void => forEachIn(parent.children, visit as (item: object) => void);
    const visitValue = (value: string): void => {
      forEachIn(index.items.get(value), visit);
      forEachIn(index.parents.get(value), visitChildren);
    };
    if (term.values !== undefined) for (const value of term.values) visitValue(value);
    else {
      for (const value of index.items.keys()) visitValue(value);
      for (const value of index.parents.keys()) if (!index.items.has(value)) visitValue(value);
    }
  }

  /** The best way to the selector's items, after making an index for it where that is worth while. */
  #plan(selector: S): RequiredTerm | undefined {
    const key = this.#keyToIndex(selector);
    if (key >= 0) {
      this.#buildKeyIndexes(new Set([key]));
      this.#useKey(selector, key);
    }
    return this.#scanTerm(selector);
  }

  /** The indexed term with the fewest candidates; `undefined` when every item must be tried. */
  #scanTerm(selector: S): RequiredTerm | undefined {
    let best: RequiredTerm | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const term of selector.terms) {
      const count = this.#countCandidates(term);
      if (count >= fewest) continue;
      best = term;
      fewest = count;
    }
    return best;
  }

  /** Infinite for a term whose key is not indexed. */
  #countCandidates(term: RequiredTerm): number {
    const index = this.#keyIndexes[term.key];
    if (index === undefined) return Number.POSITIVE_INFINITY;
    let count = 0;
    const countChildren = (parent: LabelParent): void => void (count += bagSize(parent.children));
    const add = (value: string): void => {
      count += bagSize(index.items.get(value));
      forEachIn(index.parents.get(value), countChildren);
    };
    if (term.values !== undefined) for (const value of term.values) add(value);
    else {
      for (const value of index.items.keys()) add(value);
      for (const value of index.parents.keys()) if (!index.items.has(value)) add(value);
    }
    return count;
  }

  /** A key that is worth an index before the selector is added; -1 for none. */
  #keyToIndex(selector: S): number {
    if (selector.impossible || selector.terms.length === 0 || this.#items.size <= SMALL_SCAN) return -1;
    let best: RequiredTerm | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const term of selector.terms) {
      if (this.#keyIndexes[term.key] !== undefined) fewest = Math.min(fewest, this.#countCandidates(term));
      else if (best === undefined || (term.values?.length ?? Infinity) < (best.values?.length ?? Infinity)) best = term;
    }
    // What is indexed finds few enough: another index would cost a pass over everything.
    if (best === undefined || fewest <= Math.max(SMALL_SCAN, this.#items.size / 32)) return -1;
    return best.key;
  }

  #useKey(selector: S, key: number): void {
    const oldKey = selector.scanKey;
    if (oldKey === key) return;
    selector.scanKey = key;
    const index = this.#keyIndexes[key];
    if (index !== undefined) {
      index.users++;
      this.#idleKeys.delete(key);
    }
    const oldIndex = this.#keyIndexes[oldKey];
    if (oldIndex !== undefined && --oldIndex.users === 0) this.#idleKeys.add(oldKey);
  }

  #evictIdleKeys(): void {
    for (const oldest of this.#idleKeys) {
      if (this.#idleKeys.size <= MAX_IDLE_KEYS) return;
      this.#idleKeys.delete(oldest);
      this.#keyIndexes[oldest] = undefined;
    }
  }

  // ---- key indexes

  #buildKeyIndexes(keys: ReadonlySet<number>): void {
    if (keys.size === 0) return;
    for (const key of keys) {
      this.#keyIndexes[key] = new KeyIndex();
      this.#idleKeys.add(key);
    }
    for (const item of this.#items.values()) {
      const { labels } = item;
      for (let i = 0; i < labels.length; i += 2) {
        const key = labels[i] as number;
        if (keys.has(key)) addToBag((this.#keyIndexes[key] as KeyIndex<I>).items, labels[i + 1] as string, item);
      }
    }
    for (const parent of this.#parents.values()) {
      const { labels } = parent;
      for (let i = 0; i < labels.length; i += 2) {
        const key = labels[i] as number;
        if (keys.has(key)) addToBag((this.#keyIndexes[key] as KeyIndex<I>).parents, labels[i + 1] as string, parent);
      }
    }
  }

  #indexOwn(item: I, add: boolean): void {
    const { labels } = item;
    for (let i = 0; i < labels.length; i += 2) {
      const index = this.#keyIndexes[labels[i] as number];
      if (index === undefined) continue;
      if (add) addToBag(index.items, labels[i + 1] as string, item);
      else removeFromBag(index.items, labels[i + 1] as string, item);
    }
  }

  #indexParent(parent: LabelParent, add: boolean): void {
    const { labels } = parent;
    for (let i = 0; i < labels.length; i += 2) {
      const index = this.#keyIndexes[labels[i] as number];
      if (index === undefined) continue;
      if (add) addToBag(index.parents, labels[i + 1] as string, parent);
      else removeFromBag(index.parents, labels[i + 1] as string, parent);
    }
  }
}

function sameNames(parents: readonly LabelParent[], names: readonly string[]): boolean {
  if (parents.length !== names.length) return false;
  for (let i = 0; i < names.length; i++) if (parents[i]?.name !== names[i]) return false;
  return true;
}
