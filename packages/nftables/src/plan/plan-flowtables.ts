import type { TableReadback } from "../readback.ts";
import type { FlowtableState, TableState } from "../state.ts";
import type { SetPlan } from "./plan-sets.ts";

/** What to do about the flow tables of a table. A remade one is in all three. */
export interface FlowtablePlans {
  readonly removed: readonly string[];
  readonly added: readonly string[];
  readonly remade: readonly string[];
}

/** The name of a flow table beside those of sets and maps, which have no spaces. */
export function flowtableKey(name: string): string {
  return `flowtable ${name}`;
}

export function planFlowtables(
  desired: TableState,
  current: TableState | TableReadback | undefined,
  sets: readonly SetPlan[],
): FlowtablePlans {
  const removed: string[] = [];
  const added: string[] = [];
  const remade: string[] = [];
  for (const name of current?.flowtables?.keys() ?? []) if (desired.flowtables?.has(name) !== true) removed.push(name);
  for (const flowtable of desired.flowtables?.values() ?? []) {
    const present = current?.flowtables?.get(flowtable.name);
    if (present === undefined) added.push(flowtable.name);
    else if (("isOwnKind" in present && !present.isOwnKind) || gainsExceptions(flowtable, sets))
      remade.push(flowtable.name);
  }
  return { removed: [...removed, ...remade], added: [...added, ...remade], remade };
}

function gainsExceptions({ except }: FlowtableState, sets: readonly SetPlan[]): boolean {
  return sets.some(({ added, shape }) => shape.name === except && added.length > 0);
}
