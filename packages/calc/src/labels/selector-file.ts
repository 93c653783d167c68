import type { IndexedSelector, RequiredTerm } from "./indexed.ts";

interface KeyFile<S> {
  readonly byValue: Map<string, S[]>;
  /** Selectors that only need the label to be there. */
  readonly present: S[];
}

/**
 * Selectors filed so that an item finds those that may match it: under one term that every match must satisfy. Of
 * several terms the least crowded is taken, so that "app == 'web' && has(x)" does not join a thousand others under
 * "app == 'web'".
 *
 * Invariant: a selector stands under exactly one term (under each of its values), or in `unfiled`, or nowhere when it is
 * impossible.
 */
export class SelectorFile<S extends IndexedSelector> {
  /** By key id. */
  readonly #keys: (KeyFile<S> | undefined)[] = [];
  /** Selectors without a required term: every item must try them. */
  readonly unfiled: S[] = [];

  add(selector: S): void {
    if (selector.impossible) return;
    let best: RequiredTerm | undefined;
    let bestCrowd = Number.POSITIVE_INFINITY;
    for (const term of selector.terms) {
      const crowd = this.#crowd(term);
      if (crowd < bestCrowd) {
        best = term;
        bestCrowd = crowd;
      }
    }
    selector.filed = best;
    if (best === undefined) {
      this.unfiled.push(selector);
      return;
    }
    let file = this.#keys[best.key];
    if (file === undefined) this.#keys[best.key] = file = { byValue: new Map(), present: [] };
    if (best.values === undefined) file.present.push(selector);
    else
      for (const value of best.values) {
        const list = file.byValue.get(value);
        if (list === undefined) file.byValue.set(value, [selector]);
        else list.push(selector);
      }
  }

  remove(selector: S): void {
    if (selector.impossible) return;
    const term = selector.filed;
    if (term === undefined) {
      drop(this.unfiled, selector);
      return;
    }
    selector.filed = undefined;
    const file = this.#keys[term.key];
    if (file === undefined) return;
    if (term.values === undefined) drop(file.present, selector);
    else
      for (const value of term.values) {
        const list = file.byValue.get(value);
        if (list === undefined) continue;
        drop(list, selector);
        if (list.length === 0) file.byValue.delete(value);
      }
    if (file.byValue.size === 0 && file.present.length === 0) this.#keys[term.key] = undefined;
  }

  /** Selectors filed under the label's value; only read the result. */
  underValue(key: number, value: string): readonly S[] | undefined {
    return this.#keys[key]?.byValue.get(value);
  }

  /** Selectors filed under the label's presence; only read the result. */
  underKey(key: number): readonly S[] | undefined {
    return this.#keys[key]?.present;
  }

  /** How many selectors an item that fits the term would have to try. */
  #crowd(term: RequiredTerm): number {
    const file = this.#keys[term.key];
    // A term with values is better than one without, if only a little.
    if (file === undefined) return term.values === undefined ? 0.5 : 0;
    if (term.values === undefined) return file.present.length + file.byValue.size + 0.5;
    let most = 0;
    for (const value of term.values) most = Math.max(most, file.byValue.get(value)?.length ?? 0);
    return most + file.present.length;
  }
}

function drop<S>(list: S[], selector: S): void {
  const at = list.indexOf(selector);
  if (at < 0) return;
  const last = list.pop();
  if (last !== undefined && at < list.length) list[at] = last;
}
