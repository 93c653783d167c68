import { convertResources, type SourcePosition } from "@bulrush/datastore";
import { formatKey, isObject, type JsonObject, type Policy, type Resource } from "@bulrush/model";
import { isCalicoKind, policyKeyOf } from "../input/policy-kinds.ts";
import { ruleProbe } from "../input/rule-probe.ts";

type Direction = "ingress" | "egress";

/** A policy as it was written, and where. */
export interface WrittenPolicy {
  readonly resource: Resource;
  readonly source?: SourcePosition;
}

/** Where a rule was written. */
export interface RuleSource {
  /** Absent for what does not come from a file. */
  readonly file?: string;
  /** Of the object, from 1; absent where it is not known. */
  readonly line?: number;
  /** `spec.ingress[1].from[0]`. */
  readonly field: string;
}

/** A rule as agents count it, and where it was written. */
export interface SourcedRule {
  readonly direction: Direction;
  readonly rule: number;
  readonly action: string;
  /** "" for any. */
  readonly protocol: string;
  /** Undefined where it cannot be told: the policy cannot be read as it is written, and is closed. */
  readonly source: RuleSource | undefined;
}

/** The rules of a policy in the numbers that explanations, counters, logs and the kernel's comments have. */
export function sourcedRules({ resource, source }: WrittenPolicy): readonly SourcedRule[] {
  const key = policyKeyOf(resource);
  const path = key && formatKey(key);
  const value = convertResources([resource]).updates.find((update) => update.path === path)?.value;
  if (key === undefined || value === undefined) return [];
  const policy = value as Policy;
  const position = { ...(source && { file: source.file }), ...(source && source.line > 0 && { line: source.line }) };
  return (["ingress", "egress"] as const).flatMap((direction) => {
    const rules = direction === "ingress" ? policy.inbound_rules : policy.outbound_rules;
    const fields = fieldsOf(resource, direction, isCalicoKind(key.kind));
    const isKnown = fields.length === rules.length;
    return rules.map(({ action = "allow", protocol = "" }, rule) => {
      const field = isKnown ? fields[rule] : undefined;
      return {
        direction,
        rule,
        action: action === "next-tier" ? "pass" : action,
        protocol: String(protocol),
        source: field === undefined ? undefined : { ...position, field },
      };
    });
  });
}

/** Of each rule of an agent the field that it comes from. */
function fieldsOf(resource: Resource, direction: Direction, isOneToOne: boolean): readonly string[] {
  const list = isObject(resource.spec) ? resource.spec[direction] : undefined;
  if (!Array.isArray(list)) return [];
  const rules = list as readonly unknown[];
  if (isOneToOne) return rules.map((_, i) => `spec.${direction}[${i}]`);
  return rules.flatMap((rule, i) => (isObject(rule) ? fieldsOfRule(resource, direction, rule, i) : []));
}

/**
 * A rule of Kubernetes becomes one for each protocol and peer: the protocols in their order, and of each the peers in
 * theirs. How many there are is asked of the conversion.
 */
function fieldsOfRule(resource: Resource, direction: Direction, rule: JsonObject, i: number): readonly string[] {
  const field = `spec.${direction}[${i}]`;
  const probe = ruleProbe(resource, resource.metadata.name, direction, rule);
  const key = policyKeyOf(probe);
  const path = key && formatKey(key);
  const value = convertResources([probe]).updates.find((update) => update.path === path)?.value as Policy | undefined;
  const made = (direction === "ingress" ? value?.inbound_rules : value?.outbound_rules) ?? [];
  const peersField = direction === "ingress" ? "from" : "to";
  const peers = Array.isArray(rule[peersField]) ? (rule[peersField] as unknown[]).length : 0;
  const isByPeer = peers > 0 && made.length % peers === 0;
  return made.map((_, k) => (isByPeer ? `${field}.${peersField}[${k % peers}]` : field));
}
