import {
  calicoPolicyTypes,
  type GlobalNetworkPolicySpec,
  isObject,
  type JsonObject,
  type RuleSpec,
  type StagedFields,
} from "@bulrush/model";
import type { CheckIssue } from "@bulrush/model/check";

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

/** Unreadable, they change nothing about what is let through. */
const HARMLESS: ReadonlySet<unknown> = new Set(["performanceHints", "stagedAction"]);
/** They say where a policy stands and for whom it is. */
const PLACING: ReadonlySet<unknown> = new Set([
  "selector",
  "namespaceSelector",
  "serviceAccountSelector",
  "tier",
  "order",
  "types",
  "doNotTrack",
  "preDNAT",
  "applyOnForward",
]);

const DENY_ALL: ReadRule = { rule: { action: "Deny" } };

/**
 * The spec as it may be applied, where `issues` name what of it is unreadable (paths from the spec on). Without issues
 * it is the spec, with the types that its rules imply where it names none. With issues it is closed: it never lets
 * through what the policy that was meant would have stopped.
 *
 * | Unreadable | Becomes |
 * |---|---|
 * | an Allow or Log rule | nothing |
 * | a Deny or Pass rule, or one with no readable action | a Deny of all that its readable fields match |
 * | a list of rules | one Deny of everything |
 * | a selector, the order, the types, a flag | all endpoints of the scope, the first place, both directions, also forwarded traffic; Allow rules go, Pass rules deny |
 * | the tier | the first place of the default tier, and a Deny of everything last, in place of the end of the tier that was meant; Allow rules go, Pass rules deny |
 * | the spec, or a field that we do not know | all of that, for all endpoints of the scope in both directions |
 * | performance hints, staged action | left out |
 */
export function closePolicy(spec: unknown, issues: readonly CheckIssue[]): ReadPolicy {
  return issues.length === 0 && isObject(spec) ? readAsWritten(spec) : closed(spec, issues);
}

function readAsWritten(spec: JsonObject): ReadPolicy {
  const read = (rule: unknown): ReadRule => ({ rule: rule as RuleSpec });
  const fields: JsonObject = { ...spec, ...calicoPolicyTypes(spec) };
  return {
    spec: fields,
    ingress: rulesOf(spec["ingress"]).map(read),
    egress: rulesOf(spec["egress"]).map(read),
  };
}

function closed(spec: unknown, issues: readonly CheckIssue[]): ReadPolicy {
  const fields: JsonObject = isObject(spec) ? { ...spec } : {};
  const byRule = new Map<string, CheckIssue[]>();
  let isUnknown = !isObject(spec);
  let isMisplaced = false;
  for (const issue of issues) {
    const [field, index] = issue.path;
    if (isDirection(field) && typeof index === "number") {
      const key = `${field}[${index}]`;
      byRule.set(key, [...(byRule.get(key) ?? []), issue]);
    } else if (isDirection(field)) fields[field] = [DENY_ALL.rule];
    else {
      if (typeof field === "string") delete fields[field];
      if (PLACING.has(field)) isMisplaced = true;
      else if (!HARMLESS.has(field)) isUnknown = true;
    }
  }
  if (isMisplaced || isUnknown) misplace(fields, issues);
  else Object.assign(fields, calicoPolicyTypes(fields));
  const isTierBad = issues.some(({ path }) => path[0] === "tier");
  const read = (direction: "ingress" | "egress"): ReadRule[] => {
    const rules = rulesOf(fields[direction]).flatMap((rule, i) => {
      const own = byRule.get(`${direction}[${i}]`);
      const closed = own === undefined ? { rule: rule as RuleSpec } : closeRule(rule, own);
      return closed === undefined ? [] : isMisplaced || isUnknown ? onlyDenials(closed) : [closed];
    });
    return isUnknown || isTierBad ? [...rules, DENY_ALL] : rules;
  };
  const ingress = read("ingress");
  const egress = read("egress");
  delete fields["ingress"];
  delete fields["egress"];
  return { spec: fields, ingress, egress };
}

function isDirection(field: unknown): field is "ingress" | "egress" {
  return field === "ingress" || field === "egress";
}

/** Makes a spec mean every endpoint that it could have meant, at the first place where one is unsure. */
function misplace(fields: JsonObject, issues: readonly CheckIssue[]): void {
  const isBad = (name: string): boolean => issues.some(({ path }) => path[0] === name);
  // Where only the tier is unsure, the endpoints are not.
  if (issues.some(({ path }) => path[0] !== "tier" && !isDirection(path[0])))
    for (const name of ["selector", "namespaceSelector", "serviceAccountSelector"]) delete fields[name];
  if (isBad("order") || isBad("tier")) fields["order"] = FIRST_ORDER;
  if (!Array.isArray(fields["types"]) || issues.some(({ path }) => !PLACING.has(path[0]) && !isDirection(path[0])))
    delete fields["types"];
  if (["doNotTrack", "preDNAT", "applyOnForward"].some(isBad)) {
    delete fields["doNotTrack"];
    delete fields["preDNAT"];
    fields["applyOnForward"] = true;
  }
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
function closeRule(rule: unknown, issues: readonly CheckIssue[]): ReadRule | undefined {
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
