import { type LabelSet, NO_LABELS, sameLabels } from "./label-set.ts";

/** What an update of a profile did. */
export type ProfileChange = "came" | "changed" | "went" | "none";

/**
 * The labels that profiles give to what has them: one store for all indexes, which themselves know only the profiles
 * that one of their items has.
 *
 * Invariant: holds every profile that is there, those without labels too.
 */
export class ProfileLabels {
  readonly #labels = new Map<string, LabelSet>();

  /** Profiles that are there. */
  get size(): number {
    return this.#labels.size;
  }

  /** None for a profile that is not there. */
  get(name: string): LabelSet {
    return this.#labels.get(name) ?? NO_LABELS;
  }

  /** `undefined`: the profile has gone. The indexes are to be told of every change but "none". */
  set(name: string, labels: LabelSet | undefined): ProfileChange {
    const old = this.#labels.get(name);
    if (labels === undefined) return this.#labels.delete(name) ? "went" : "none";
    if (old !== undefined && sameLabels(old, labels)) return "none";
    this.#labels.set(name, labels);
    return old === undefined ? "came" : "changed";
  }
}
