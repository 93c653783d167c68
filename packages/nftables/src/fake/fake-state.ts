import type { Interval } from "../element/interval.ts";
import type { KernelElement } from "../object/element-codec.ts";
import type { MapShape, RuleHandle, SetShape, TableRef } from "../operation.ts";
import type { BaseChain, RuleState } from "../state.ts";
import type { Verdict } from "../statement.ts";

/** One table of the fake. Copied before a transaction works on it. */
export interface FakeTable {
  readonly ref: TableRef;
  asleep: boolean;
  readonly chains: Map<string, FakeChain>;
  /** Sets and maps share their names. */
  readonly sets: Map<string, FakeSet | FakeMap>;
  /** Devices by name of the flow table. */
  readonly flowtables: Map<string, ReadonlySet<string>>;
}

export interface FakeChain {
  readonly base: BaseChain | undefined;
  readonly rules: readonly FakeRule[];
}

export interface FakeRule {
  readonly handle: RuleHandle;
  readonly rule: RuleState;
}

export interface FakeSet {
  readonly kind: "set";
  readonly shape: SetShape;
  /** By the key's bytes (of a range, its first), in hexadecimal. */
  readonly elements: ReadonlyMap<string, FakeElement>;
}

export interface FakeElement {
  readonly range: Interval;
}

export interface FakeMap {
  readonly kind: "map";
  readonly shape: MapShape;
  readonly elements: ReadonlyMap<string, { readonly key: KernelElement["key"]; readonly verdict: Verdict }>;
}

export function tableKey(table: TableRef): string {
  return `${table.family} ${table.name}`;
}

/** A copy that can be changed without changing the original: what is inside the maps is never changed in place. */
export function copyTable(table: FakeTable): FakeTable {
  return {
    ref: table.ref,
    asleep: table.asleep,
    chains: new Map(table.chains),
    sets: new Map(table.sets),
    flowtables: new Map(table.flowtables),
  };
}

/** Chains that a verdict leads to. */
export function verdictTarget(verdict: Verdict): string | undefined {
  return verdict.kind === "jump" || verdict.kind === "goto" ? verdict.chain : undefined;
}

/** Chains that a rule's verdicts lead to. */
export function ruleTargets(rule: RuleState): string[] {
  const targets: string[] = [];
  for (const statement of rule.statements) {
    if (statement.kind !== "verdict") continue;
    const target = verdictTarget(statement.verdict);
    if (target !== undefined) targets.push(target);
  }
  return targets;
}

/** How a rule uses a named set or map: it looks into it, or adds to it. */
interface SetUse {
  readonly name: string;
  readonly use: "set" | "map" | "add";
}

/** Named sets and maps that a rule uses. */
export function ruleSets(rule: RuleState): SetUse[] {
  const sets: SetUse[] = [];
  for (const statement of rule.statements) {
    if (statement.kind === "vmap") sets.push({ name: statement.map, use: "map" });
    else if (statement.kind === "set-element") sets.push({ name: statement.set, use: "add" });
    else if (statement.kind === "match" && statement.right.kind === "set")
      sets.push({ name: statement.right.name, use: "set" });
  }
  return sets;
}

/** The flow table that a rule hands flows to. */
export function ruleFlowtable(rule: RuleState): string | undefined {
  for (const statement of rule.statements) if (statement.kind === "flow-offload") return statement.flowtable;
  return undefined;
}
