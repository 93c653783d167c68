import { type DriftItem, type DriftRepair, MAX_DRIFT_ITEMS } from "./drift-report.ts";

const MAX_REPAIRS = 100;

/** The last repairs: {@link MAX_DRIFT_ITEMS} items of each of the last 100. */
export class RepairLog {
  readonly #repairs: DriftRepair[] = [];

  add(atMs: number, by: string, items: readonly DriftItem[]): void {
    if (items.length === 0) return;
    const kept = items.slice(0, MAX_DRIFT_ITEMS);
    this.#repairs.push({ atMs, by, items: kept, more: items.length - kept.length });
    if (this.#repairs.length > MAX_REPAIRS) this.#repairs.shift();
  }

  /** Oldest first. */
  list(): readonly DriftRepair[] {
    return [...this.#repairs];
  }
}
