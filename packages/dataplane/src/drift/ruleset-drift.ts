import type { NftOperation, Transaction } from "@bulrush/nftables";
import type { DriftItem } from "./drift-report.ts";

export type RulesetDriftKind = "chain" | "set" | "map";

/** An object of a table that a repair touches. */
export interface TouchedObject {
  readonly kind: RulesetDriftKind;
  /** "ip filter-cali-FORWARD" */
  readonly name: string;
}

interface Tally {
  readonly object: TouchedObject;
  created: boolean;
  deleted: boolean;
  rulesOut: number;
  rulesIn: number;
  elementsOut: number;
  elementsIn: number;
}

export interface RulesetDrift {
  /** Every object that is not as meant. */
  readonly objects: readonly TouchedObject[];
  /** The same for people; of a table that is gone as a whole, one item. */
  readonly items: readonly DriftItem[];
}

/**
 * What a plan that was made from a read-back says about the difference between what is there and what is meant. Objects
 * in `own` (by "kind name") are left out: the difference is ours.
 */
export function rulesetDrift(plan: Transaction, own: ReadonlySet<string> = new Set()): RulesetDrift {
  const tallies = new Map<string, Tally>();
  const missingTables = new Set<string>();
  const sleeping: TouchedObject[] = [];
  for (const operation of plan.operations) {
    const { family, name } = operation.table;
    if (operation.kind === "add-table" && operation.asleep === undefined) missingTables.add(`${family} ${name}`);
    // Counted with the chains, since it is those that no packet came to.
    else if (operation.kind === "add-table") sleeping.push({ kind: "chain", name: `${family} ${name}` });
    const object = objectOf(operation);
    if (object === undefined || own.has(objectKey(object))) continue;
    const key = objectKey(object);
    let tally = tallies.get(key);
    if (tally === undefined)
      tallies.set(
        key,
        (tally = { object, created: false, deleted: false, rulesOut: 0, rulesIn: 0, elementsOut: 0, elementsIn: 0 }),
      );
    count(operation, tally);
  }
  const found = [...tallies.values()];
  return {
    objects: [...sleeping, ...found.map(({ object }) => object)],
    items: [
      ...sleeping.map(({ name }): DriftItem => ({ kind: "table", name, what: "changed", detail: "asleep (dormant)" })),
      ...tablesOf(missingTables, found),
      ...itemsOf(missingTables, found),
    ],
  };
}

export function objectKey({ kind, name }: TouchedObject): string {
  return `${kind} ${name}`;
}

function familyOf({ object }: Tally): string {
  return object.name.slice(0, object.name.indexOf(" "));
}

function tablesOf(missing: ReadonlySet<string>, found: readonly Tally[]): DriftItem[] {
  return [...missing].map((name) => {
    const inside = found.filter((tally) => name.startsWith(`${familyOf(tally)} `));
    const counts = (["chain", "set", "map"] as const)
      .map((kind) => [inside.filter(({ object }) => object.kind === kind).length, kind] as const)
      .filter(([number]) => number > 0)
      .map(([number, kind]) => plural(number, kind));
    return { kind: "table", name, what: "missing", detail: counts.join(", ") };
  });
}

function itemsOf(missing: ReadonlySet<string>, found: readonly Tally[]): DriftItem[] {
  const gone = new Set([...missing].map((name) => name.slice(0, name.indexOf(" "))));
  return found
    .filter((tally) => !gone.has(familyOf(tally)))
    .map((tally) => ({
      ...tally.object,
      what: tally.created && !tally.deleted ? "missing" : tally.deleted && !tally.created ? "unknown" : "changed",
      detail: tally.created && tally.deleted ? "of another type" : detailOf(tally),
    }));
}

function detailOf({ elementsIn, elementsOut, object, rulesIn, rulesOut }: Tally): string {
  if (object.kind === "chain") return rulesOut + rulesIn === 0 ? "" : differs(rulesIn, rulesOut, "rule");
  return elementsOut + elementsIn === 0 ? "" : differs(elementsIn, elementsOut, "element");
}

function differs(missing: number, unknown: number, what: string): string {
  const parts: string[] = [];
  if (missing > 0) parts.push(`${plural(missing, what)} missing`);
  if (unknown > 0) parts.push(`${plural(unknown, what)} unknown`);
  return parts.join(", ");
}

function plural(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function count(operation: NftOperation, tally: Tally): void {
  switch (operation.kind) {
    case "add-set":
    case "add-map":
      tally.created = true;
      return;
    case "add-chain":
      tally.created = true;
      return;
    case "delete-chain":
    case "delete-set":
    case "delete-map":
      tally.deleted = true;
      return;
    case "add-rule":
    case "insert-rule":
    case "replace-rule":
      tally.rulesIn++;
      return;
    case "delete-rule":
    case "flush-chain":
      tally.rulesOut++;
      return;
    case "add-elements":
      tally.elementsIn += operation.elements.length;
      return;
    case "delete-elements":
      tally.elementsOut += operation.elements.length;
      return;
    case "add-map-elements":
      tally.elementsIn += operation.elements.length;
      return;
    case "delete-map-elements":
      tally.elementsOut += operation.keys.length;
      return;
    default:
  }
}

function objectOf(operation: NftOperation): TouchedObject | undefined {
  const { family } = operation.table;
  switch (operation.kind) {
    case "add-table":
    case "delete-table":
      return undefined;
    case "add-chain":
    case "delete-chain":
    case "flush-chain":
    case "add-rule":
    case "insert-rule":
    case "replace-rule":
    case "delete-rule":
      return { kind: "chain", name: `${family} ${operation.chain}` };
    case "add-set":
    case "add-elements":
    case "delete-elements":
      return { kind: "set", name: `${family} ${operation.set.name}` };
    case "delete-set":
    case "flush-set":
      return { kind: "set", name: `${family} ${operation.set}` };
    case "add-map":
    case "add-map-elements":
    case "delete-map-elements":
      return { kind: "map", name: `${family} ${operation.map.name}` };
    case "delete-map":
      return { kind: "map", name: `${family} ${operation.map}` };
  }
}
