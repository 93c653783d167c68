import type { Clock } from "@bulrush/base";
import type { Item, ItemKey } from "../driver/driver.ts";
import type { ItemIssue } from "../driver/item-issue.ts";
import type { Problem } from "../problem.ts";

/** What is told of one item at most. */
const MAX_ISSUES_AN_ITEM = 20;
/** How many items are remembered at most; more are only counted. */
const MAX_ITEMS = 1000;

interface Entry {
  readonly problems: readonly Problem[];
  /** One of the problems is an error. */
  readonly isError: boolean;
  readonly sinceMs: number;
  generation: number;
}

/** The stored things of one kind that cannot be used as they are written. */
export interface UnusableItems {
  /** At least 1, and at most as many as are remembered (1,000). */
  readonly items: number;
  /** Since when the oldest of them is so, clock milliseconds. */
  readonly sinceMs: number;
  /** What is wrong with the oldest. */
  readonly oldest: Problem;
}

/**
 * What could not be read of the items of one kind, for as long as it is so. Bounded.
 *
 * Invariant: `#byItem` is in the order in which the items went wrong; one whose warnings become an error goes to the end.
 */
export class ItemProblems {
  readonly #byItem = new Map<string, Entry>();
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #generation = 0;

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** Replaces what is known of an item. Returns the problems that are new, or "mended" where there were some and are none. */
  set(
    item: ItemKey,
    issues: readonly ItemIssue[],
    effect: string | undefined,
    { source, subject = item }: Pick<Item, "source" | "subject">,
  ): readonly Problem[] | "mended" {
    const id = `${item.namespace}/${item.name}`;
    const known = this.#byItem.get(id);
    if (issues.length === 0) {
      if (!this.#byItem.delete(id)) return [];
      this.#onChange();
      return "mended";
    }
    const problems = issues.slice(0, MAX_ISSUES_AN_ITEM).map(
      (issue): Problem => ({
        severity: issue.severity,
        message: issue.message,
        kind: subject.kind,
        ...(subject.namespace !== "" && { namespace: subject.namespace }),
        name: subject.name,
        ...(issue.field !== "" && { field: issue.field }),
        ...(source !== undefined && { source }),
        ...(effect !== undefined && issue.severity === "error" && { effect }),
      }),
    );
    if (known !== undefined) {
      known.generation = this.#generation;
      if (JSON.stringify(known.problems) === JSON.stringify(problems)) return [];
    } else if (this.#byItem.size >= MAX_ITEMS) return problems;
    const isError = problems.some(({ severity }) => severity === "error");
    const isAsBad = known?.isError === isError;
    if (!isAsBad) this.#byItem.delete(id);
    const sinceMs = isAsBad ? known.sinceMs : this.#clock.nowMs();
    this.#byItem.set(id, { problems, isError, sinceMs, generation: this.#generation });
    this.#onChange();
    return problems;
  }

  startResync(): void {
    this.#generation++;
  }

  /** Forgets items that the full list did not have. */
  finishResync(): void {
    let changed = false;
    for (const [id, entry] of this.#byItem) {
      if (entry.generation < this.#generation) changed = this.#byItem.delete(id) || changed;
    }
    if (changed) this.#onChange();
  }

  list(): Problem[] {
    return [...this.#byItem.values()].flatMap(({ problems, sinceMs }) =>
      problems.map((problem) => ({ ...problem, sinceMs })),
    );
  }

  /** Undefined when every item can be used. Warnings do not count. */
  unusable(): UnusableItems | undefined {
    let oldest: Entry | undefined;
    let items = 0;
    for (const entry of this.#byItem.values()) {
      if (!entry.isError) continue;
      items++;
      oldest ??= entry;
    }
    const problem = oldest?.problems.find(({ severity }) => severity === "error");
    return oldest === undefined || problem === undefined
      ? undefined
      : { items, sinceMs: oldest.sinceMs, oldest: problem };
  }
}
