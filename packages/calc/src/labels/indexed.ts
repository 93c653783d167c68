import type { Selector } from "@bulrush/selector";
import type { Bag } from "./bag.ts";
import { type LabelKeys, type LabelSet, NO_LABELS } from "./label-set.ts";
import { compileSelector, type MatchNode } from "./match-node.ts";

/** A label that every match must have, and the values it may then have (any, when `undefined`). */
export interface RequiredTerm {
  readonly key: number;
  readonly values: readonly string[] | undefined;
}

/**
 * A selector in a label index. Users extend it with what hangs on it.
 *
 * The fields below the line belong to the index.
 */
export class IndexedSelector {
  /** Canonical text: equal for selectors that mean the same. */
  readonly text: string;
  readonly node: MatchNode;
  /** Nothing can ever match. */
  readonly impossible: boolean;
  readonly terms: readonly RequiredTerm[];
  // ---- index
  matchCount = 0;
  /** The term that it is filed under for items to find it; `undefined`: under none. */
  filed: RequiredTerm | undefined;
  /** Key whose item index its last scan used; -1: none. */
  scanKey = -1;
  /** Marks of the run that last saw it: as a candidate, as an old match, as a match. */
  seenRun = 0;
  oldRun = 0;
  hitRun = 0;

  constructor(selector: Selector, keys: LabelKeys) {
    this.text = selector.text;
    this.node = compileSelector(selector.root, keys);
    const terms: RequiredTerm[] = [];
    let impossible = false;
    for (const [label, restriction] of selector.restrictions) {
      const values = restriction.mustHaveOneOfValues;
      if (values?.length === 0 || (restriction.mustBePresent && restriction.mustBeAbsent)) impossible = true;
      if (restriction.mustBePresent) terms.push({ key: keys.idOf(label), values });
    }
    this.impossible = impossible;
    // A copy has exactly the length it needs.
    this.terms = terms.slice();
  }
}

/** The matches of an item: a short array, or a Set where they are many. */
export type MatchSet<S> = readonly S[] | Set<S>;

/**
 * A thing with labels in a label index. Users extend it with what it stands for.
 *
 * Invariant: all fields here are changed by the index only.
 */
export class IndexedItem<S extends IndexedSelector> {
  labels: LabelSet = NO_LABELS;
  parents: readonly LabelParent[] = NO_PARENTS;
  matches: MatchSet<S> = NO_MATCHES;
  indexed = false;
  seenRun = 0;
}

/** A profile, as the giver of labels. It exists while an item has it. */
export class LabelParent {
  readonly name: string;
  labels: LabelSet = NO_LABELS;
  /** Items that have the profile, in the one index that made this object. */
  children: Bag<object> | undefined;

  constructor(name: string) {
    this.name = name;
  }
}

export const NO_PARENTS: readonly LabelParent[] = [];
export const NO_MATCHES: readonly never[] = [];

/** From this many matches on, a Set. */
const MAX_ARRAY = 16;

export function hasMatch<S>(matches: MatchSet<S>, selector: S): boolean {
  return matches instanceof Set ? matches.has(selector) : matches.includes(selector);
}

export function withMatch<S>(matches: MatchSet<S>, selector: S): MatchSet<S> {
  if (matches instanceof Set) return matches.add(selector);
  if (matches.length === 0) return [selector];
  return matches.length < MAX_ARRAY ? matches.concat([selector]) : new Set(matches).add(selector);
}

export function withoutMatch<S>(matches: MatchSet<S>, selector: S): MatchSet<S> {
  if (matches instanceof Set) {
    matches.delete(selector);
    return matches.size > MAX_ARRAY / 2 ? matches : [...matches];
  }
  if (matches.length === 1) return NO_MATCHES;
  return matches.filter((match) => match !== selector);
}

/** Where the values of one label lead: to the items that have it themselves, and to the profiles. */
export class KeyIndex<I extends object> {
  readonly items: Map<string, Bag<I>> = new Map();
  readonly parents: Map<string, Bag<LabelParent>> = new Map();
  /** Selectors that were found through it. */
  users = 0;
}
