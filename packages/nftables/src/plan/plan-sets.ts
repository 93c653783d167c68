import type { MapShape, SetShape } from "../operation.ts";
import type { MapReadback, SetReadback, TableReadback } from "../readback.ts";
import type { SetState, TableState, VerdictMapState } from "../state.ts";
import type { Verdict } from "../statement.ts";

/** What to do to one wanted set. */
export interface SetPlan {
  readonly shape: SetShape;
  /** It is not there. */
  readonly create: boolean;
  /** It is there in another shape: delete it, make it again. Then all elements are in `added`. */
  readonly remake: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** What to do to one wanted verdict map. A key whose verdict changes is in both lists. */
export interface MapPlan {
  readonly shape: MapShape;
  readonly create: boolean;
  readonly remake: boolean;
  readonly added: readonly (readonly [key: string, verdict: Verdict])[];
  readonly removed: readonly string[];
}

type Current = TableState | TableReadback | undefined;

/** Plans of the sets that differ; unchanged ones have none. */
export function planSets(desired: TableState, current: Current): SetPlan[] {
  const plans: SetPlan[] = [];
  for (const set of desired.sets.values()) {
    const plan = planSet(set, current?.sets.get(set.name));
    if (plan !== undefined) plans.push(plan);
  }
  return plans;
}

function planSet(desired: SetState, current: SetState | SetReadback | undefined): SetPlan | undefined {
  if (desired === current) return undefined;
  const shape = shapeOf(desired);
  if (current === undefined) return { shape, create: true, remake: false, added: [...desired.elements], removed: [] };
  if (!sameShape(desired, current))
    return { shape, create: false, remake: true, added: [...desired.elements], removed: [] };
  // What packets have added is theirs.
  if (desired.dynamic === true || desired.elements === current.elements) return undefined;
  const { added, removed } = difference(desired.elements, current.elements);
  if (added.length === 0 && removed.length === 0) return undefined;
  return { shape, create: false, remake: false, added, removed };
}

function shapeOf(set: SetState): SetShape {
  const { dynamic, name, key, interval, size } = set;
  return { name, key, interval, ...(size === undefined ? {} : { size }), ...(dynamic === true ? { dynamic } : {}) };
}

function sameShape(desired: SetState, current: SetState | SetReadback): boolean {
  return (
    current.key !== undefined &&
    desired.interval === current.interval &&
    desired.size === current.size &&
    (desired.dynamic === true) === (current.dynamic === true) &&
    desired.key.length === current.key.length &&
    desired.key.every((field, i) => field === current.key?.[i])
  );
}

function difference(
  desired: ReadonlySet<string>,
  current: ReadonlySet<string>,
): { readonly added: string[]; readonly removed: string[] } {
  const added: string[] = [];
  const removed: string[] = [];
  for (const element of desired) if (!current.has(element)) added.push(element);
  // Nothing is left over when the sizes add up.
  if (current.size + added.length !== desired.size)
    for (const element of current) if (!desired.has(element)) removed.push(element);
  return { added, removed };
}

/** Plans of the maps that differ; unchanged ones have none. */
export function planMaps(desired: TableState, current: Current): MapPlan[] {
  const plans: MapPlan[] = [];
  for (const map of desired.maps.values()) {
    const plan = planMap(map, current?.maps.get(map.name));
    if (plan !== undefined) plans.push(plan);
  }
  return plans;
}

function planMap(desired: VerdictMapState, current: VerdictMapState | MapReadback | undefined): MapPlan | undefined {
  if (desired === current) return undefined;
  const shape: MapShape = { name: desired.name, key: desired.key };
  if (current === undefined) return { shape, create: true, remake: false, added: [...desired.elements], removed: [] };
  if (desired.key !== current.key)
    return { shape, create: false, remake: true, added: [...desired.elements], removed: [] };
  if (desired.elements === current.elements) return undefined;
  const added: [string, Verdict][] = [];
  const removed: string[] = [];
  for (const [key, verdict] of desired.elements) {
    const now = current.elements.get(key);
    if (now !== undefined && sameVerdict(verdict, now)) continue;
    // The kernel refuses a key with another verdict: the old one goes first.
    if (now !== undefined) removed.push(key);
    added.push([key, verdict]);
  }
  for (const key of current.elements.keys()) if (!desired.elements.has(key)) removed.push(key);
  if (added.length === 0 && removed.length === 0) return undefined;
  return { shape, create: false, remake: false, added, removed };
}

function sameVerdict(a: Verdict, b: Verdict): boolean {
  if (a.kind !== b.kind) return false;
  if (a.kind === "jump" || a.kind === "goto") return "chain" in b && a.chain === b.chain;
  return true;
}
