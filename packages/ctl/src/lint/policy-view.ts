import type { ManifestResource } from "@bulrush/datastore";
import {
  formatKey,
  isObject,
  type JsonObject,
  type Key,
  type Policy,
  type PolicyKey,
  type Rule,
  type Update,
} from "@bulrush/model";
import { isCalicoKind, policyKeyOf } from "../input/policy-kinds.ts";

export type Direction = "ingress" | "egress";
export const DIRECTIONS: readonly Direction[] = ["ingress", "egress"];

/** A rule as its author wrote it, and what it becomes. */
export interface RuleView {
  /** "spec.ingress[0]". */
  readonly field: string;
  readonly written: JsonObject;
  /** One for a Calico rule; any number for one of Kubernetes. */
  readonly v1: readonly Rule[];
}

export interface DirectionView {
  readonly direction: Direction;
  /** Among the policy's types. */
  readonly isTyped: boolean;
  readonly rules: readonly RuleView[];
}

/** A policy as it was written, and as the graph has it. */
export interface PolicyView {
  readonly entry: ManifestResource;
  readonly key: PolicyKey;
  readonly v1: Policy;
  readonly spec: JsonObject;
  /** Its rules are Calico's: written and v1 rules are one to one. */
  readonly isCalico: boolean;
  readonly isStaged: boolean;
  readonly directions: readonly DirectionView[];
}

/** The policies among the resources that became one, in their order. */
export function policyViews(resources: readonly ManifestResource[], updates: readonly Update[]): readonly PolicyView[] {
  const byPath = new Map(updates.map((update) => [update.path, update]));
  const views: PolicyView[] = [];
  for (const entry of resources) {
    const key = policyKeyOf(entry.resource);
    const update = key && byPath.get(formatKey(key satisfies Key));
    const spec = entry.resource.spec ?? {};
    if (key === undefined || update?.key.type !== "Policy" || update.value === undefined || !isObject(spec)) continue;
    const v1 = update.value as Policy;
    const isCalico = isCalicoKind(key.kind);
    const directions = DIRECTIONS.map((direction) => directionView(direction, spec, v1, isCalico));
    views.push({ entry, key, v1, spec, isCalico, isStaged: key.kind.startsWith("Staged"), directions });
  }
  return views;
}

function directionView(direction: Direction, spec: JsonObject, v1: Policy, isCalico: boolean): DirectionView {
  const written = Array.isArray(spec[direction]) ? (spec[direction] as unknown[]) : [];
  const converted = direction === "ingress" ? v1.inbound_rules : v1.outbound_rules;
  const types = v1.types ?? [];
  return {
    direction,
    isTyped: types.length === 0 || types.includes(direction),
    rules: written.map((rule, i) => ({
      field: `spec.${direction}[${i}]`,
      written: isObject(rule) ? rule : {},
      v1: isCalico ? converted.slice(i, i + 1) : [],
    })),
  };
}

/** True for a rule that every packet matches. */
export function isUnconditional(rule: Rule): boolean {
  return Object.entries(rule).every(
    ([field, value]) =>
      field === "action" ||
      field === "metadata" ||
      value === undefined ||
      value === null ||
      value === "" ||
      (Array.isArray(value) && value.length === 0),
  );
}

/** "log" for a rule that only logs, else what it does with a packet. */
export function actionOf({ action = "" }: Rule): "allow" | "deny" | "pass" | "log" {
  return action === "" ? "allow" : action === "next-tier" ? "pass" : action;
}
