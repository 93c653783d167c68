import {
  calicoPolicyTypes,
  type GlobalNetworkPolicySpec,
  isObject,
  type JsonObject,
  type RuleSpec,
  type StagedFields,
} from "@bulrush/model";
import type { Issue } from "../check.ts";

/** A rule, with which of its sides lost the selector that said where it looks. */
export interface ReadRule {
  readonly rule: RuleSpec;
  /** The side's namespace selector was unreadable: the side is not held to the policy's own namespace. */
  readonly unscoped?: { readonly source: boolean; readonly destination: boolean };
}

/** A policy spec that can be converted. */
export interface ReadPolicy {
  readonly spec: Omit<GlobalNetworkPolicySpec & StagedFields, "ingress" | "egress">;
  readonly ingress: readonly ReadRule[];
  readonly egress: readonly ReadRule[];
}

/** Comes before every order that a policy can have. */
const FIRST_ORDER = -Number.MAX_VALUE;

/**
 * The spec as it may be applied, where `issues` name what of it is unreadable (paths from the spec on). Without issues
 * it is the spec. With issues it is closed: it never lets through what the policy that was meant would have stopped.
 *
 * - A bad Allow rule is dropped, and so is a bad Log rule. A bad Deny or Pass rule, or one whose action is unreadable,
 *   denies whatever its readable fields match: a bad condition counts as fulfilled.
 * - Types that are not named come from the rules; where they cannot be read, both directions are meant.
 * - Unreadable words about which endpoints the policy is for (or any other bad field of the spec): it is for all
 *   endpoints of its scope, and its Allow rules are dropped, its Pass rules deny.
 */
export function closePolicy(spec: unknown, issues: readonly Issue[]): ReadPolicy {
  const fields: JsonObject = isObject(spec) ? { ...spec } : {};
  const byRule = new Map<string, Issue[]>();
  let isWide = !isObject(spec);
  for (const issue of issues) {
    const [field, index] = issue.path;
    if ((field === "ingress" || field === "egress") && typeof index === "number") {
      const key = `${field}[${index}]`;
      const known = byRule.get(key);
      if (known === undefined) byRule.set(key, [issue]);
      else known.push(issue);
      continue;
    }
    isWide = true;
    if (typeof field === "string") delete fields[field];
    if (field === "order") fields["order"] = FIRST_ORDER;
  }
  if (isWide) {
    for (const field of ["selector", "namespaceSelector", "serviceAccountSelector"]) delete fields[field];
  }
  const areTypesUnsure =
    !isObject(spec) ||
    issues.some(
      (issue) => ["types", "ingress", "egress"].includes(String(issue.path[0])) && typeof issue.path[1] !== "number",
    );
  // No types at all would mean both directions.
  if (!areTypesUnsure) Object.assign(fields, calicoPolicyTypes(fields));
  const read = (direction: "ingress" | "egress"): ReadRule[] =>
    rulesOf(fields[direction]).flatMap((rule, i) => {
      const own = byRule.get(`${direction}[${i}]`);
      const closed = own === undefined ? { rule: rule as RuleSpec } : closeRule(rule, own);
      return closed === undefined ? [] : isWide ? onlyDenials(closed) : [closed];
    });
  const ingress = read("ingress");
  const egress = read("egress");
  delete fields["ingress"];
  delete fields["egress"];
  return { spec: fields, ingress, egress };
}

function rulesOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function onlyDenials(read: ReadRule): ReadRule[] {
  const { action } = read.rule;
  if (action === "Pass") return [{ ...read, rule: { ...read.rule, action: "Deny" } }];
  return action === "Allow" ? [] : [read];
}

/** A rule with unreadable parts as it may be applied, or undefined when it is to be dropped. See {@link closePolicy}. */
export function closeRule(rule: unknown, issues: readonly Issue[]): ReadRule | undefined {
  const fields: JsonObject = isObject(rule) ? { ...rule } : {};
  const bad = issues.map((issue) => issue.path.slice(2));
  const isActionBad = bad.some((path) => path[0] === undefined || path[0] === "action");
  if (!isActionBad && (fields["action"] === "Allow" || fields["action"] === "Log")) return undefined;
  fields["action"] = "Deny";
  const unscoped = { source: false, destination: false };
  for (const [field, part] of bad) {
    if (field === undefined || field === "action") continue;
    if (field !== "source" && field !== "destination") {
      delete fields[field];
      if (field === "protocol") dropPorts(fields);
      continue;
    }
    const side = fields[field];
    if (!isObject(side) || part === undefined) {
      delete fields[field];
      continue;
    }
    const { [String(part)]: _, ...rest } = side;
    fields[field] = rest;
    if (part === "namespaceSelector") unscoped[field] = true;
  }
  return { rule: fields as RuleSpec, unscoped };
}

/** Ports mean nothing without their protocol, and neither do ICMP types. */
function dropPorts(fields: JsonObject): void {
  delete fields["icmp"];
  delete fields["notICMP"];
  for (const name of ["source", "destination"]) {
    const side = fields[name];
    if (!isObject(side)) continue;
    const { ports: _ports, notPorts: _notPorts, ...rest } = side;
    fields[name] = rest;
  }
}
