import { type Selector, tryParseSelector } from "@bulrush/selector";

type Labels = ReadonlyMap<string, string>;

/**
 * Which of many sets of labels a selector picks. Looks only at those that have the rarest of the labels that the selector
 * requires.
 *
 * Invariant: `#byLabel` has the index of every set under each of its labels and values, in order.
 */
export class MemberIndex {
  readonly #labels: readonly Labels[];
  readonly #byLabel = new Map<string, Map<string, number[]>>();
  readonly #picked = new Map<string, ReadonlySet<number> | undefined>();

  constructor(labels: readonly Labels[]) {
    this.#labels = labels;
    for (const [i, own] of labels.entries()) {
      for (const [name, value] of own) {
        let values = this.#byLabel.get(name);
        if (values === undefined) this.#byLabel.set(name, (values = new Map()));
        const known = values.get(value);
        if (known === undefined) values.set(value, [i]);
        else known.push(i);
      }
    }
  }

  /** The indexes of the ones picked; undefined for text that cannot be read. Remembered. */
  pick(text: string): ReadonlySet<number> | undefined {
    if (!this.#picked.has(text)) {
      const parsed = tryParseSelector(text);
      this.#picked.set(text, parsed.ok ? this.#evaluate(parsed.selector) : undefined);
    }
    return this.#picked.get(text);
  }

  #evaluate(selector: Selector): ReadonlySet<number> {
    const found = new Set<number>();
    for (const i of this.#candidates(selector) ?? this.#labels.keys()) {
      if (selector.evaluate(this.#labels[i] as Labels)) found.add(i);
    }
    return found;
  }

  /** Undefined: all of them. */
  #candidates(selector: Selector): readonly number[] | undefined {
    let best: readonly (readonly number[])[] | undefined;
    let fewest = Infinity;
    for (const [name, { mustBePresent, mustHaveOneOfValues }] of selector.restrictions) {
      if (!mustBePresent) continue;
      const values = this.#byLabel.get(name);
      const wanted = [...(mustHaveOneOfValues ?? values?.keys() ?? [])];
      const lists = wanted.map((value) => values?.get(value) ?? []);
      const count = lists.reduce((sum, list) => sum + list.length, 0);
      if (count < fewest) [best, fewest] = [lists, count];
    }
    return best?.flat();
  }
}
