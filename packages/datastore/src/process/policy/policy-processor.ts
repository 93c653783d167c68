import {
  closedPolicyForm,
  type Policy,
  POLICY_KINDS,
  type PolicyKey,
  type PolicyKind,
  type Resource,
  validateV1,
} from "@bulrush/model";
import type { ItemIssue } from "../../driver/item-issue.ts";
import { convertKubernetesPolicy } from "../../kubernetes/network-policy.ts";
import { type Check, type CheckIssue, issuesOf } from "@bulrush/model/check";
import { errorAt, specErrors } from "../issue.ts";
import { type Processed, type ProcessorInput, simpleProcessor, type UpdateProcessor } from "../processor.ts";
import { POLICY_SPEC_CHECKS } from "./check-policy.ts";
import { withCanonicalWords } from "./canonical-words.ts";
import { closePolicy, type ReadPolicy } from "./close-policy.ts";
import { convertRule } from "./rule.ts";
import { appliesToSelector } from "./selector.ts";

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * The check of each kind's spec as its author wrote it. The kinds of Kubernetes come in a v3 form that our own
 * conversion made of what it had checked; the rules of v1 are enough for it.
 */
const SPEC_CHECKS: Readonly<Partial<Record<PolicyKind, Check>>> = POLICY_SPEC_CHECKS;

/** Policies of one kind. See {@link closePolicy} for what becomes of one that cannot be read. */
export function policyProcessor(kind: PolicyKind): UpdateProcessor {
  return simpleProcessor((input) => processPolicy(kind, input));
}

function processPolicy(kind: PolicyKind, { item, value, issues = [] }: ProcessorInput): Processed {
  const key: PolicyKey = { type: "Policy", kind, namespace: item.namespace, name: item.name };
  const isUnreadable = issues.some((issue) => issue.severity === "error");
  if (value === undefined && !isUnreadable) return gone(key, issues);
  // A new cluster policy without a meaning is no policy: its API says so. One that had a meaning keeps it.
  if (value === undefined && kind === "KubernetesClusterNetworkPolicy")
    return { outputs: [{ key, value: undefined, isUnreadable }], issues, isClosedForm: false };
  let resource: Resource | undefined = value;
  let found = issues;
  if (kind === "StagedKubernetesNetworkPolicy" && value !== undefined) {
    const converted = convertKubernetesPolicy(value, kind);
    resource = converted.resource;
    found = [...issues, ...converted.issues];
  }
  const spec = withCanonicalWords(resource?.spec ?? {});
  const check = SPEC_CHECKS[kind];
  const own = resource === undefined ? [WHOLE] : check === undefined ? [] : issuesOf(check, spec);
  const read = closePolicy(spec, own);
  if (POLICY_KINDS[kind].staged && read.spec.stagedAction === "Delete") return gone(key);
  const policy = convertPolicy(read, kind, item.namespace);
  // The rules of v1 have the last word: what the checks of the spec do not know of is closed there.
  const late = validateV1(key, policy);
  const lateIssues = late.map(({ path, message }) => errorAt("spec", `${path}: ${message}`));
  return {
    outputs: [{ key, value: late.length === 0 ? policy : closedPolicyForm(key, policy) }],
    issues: resource === undefined ? found : [...found, ...specErrors(own), ...lateIssues],
    isClosedForm: own.length > 0 || late.length > 0 || found.some(isError),
  };
}

const WHOLE: CheckIssue = { path: [], message: "Unreadable" };

function gone(key: PolicyKey, issues: readonly ItemIssue[] = []): Processed {
  return { outputs: [{ key, value: undefined }], issues, isClosedForm: false };
}

function isError(issue: ItemIssue): boolean {
  return issue.severity === "error";
}

function convertPolicy({ spec, ingress, egress }: ReadPolicy, kind: PolicyKind, namespace: string): Policy {
  const { namespaced, staged } = POLICY_KINDS[kind];
  const out: Writable<Policy> = {
    ...(namespaced && { namespace }),
    tier: spec.tier || "default",
    ...(typeof spec.order === "number" && { order: spec.order }),
    inbound_rules: ingress.map((rule) => convertRule(rule, namespace)),
    outbound_rules: egress.map((rule) => convertRule(rule, namespace)),
    selector: appliesToSelector(spec, namespace),
    types: (spec.types ?? []).map((type) => type.toLowerCase()),
  };
  if (!namespaced) {
    if (spec.doNotTrack) out.untracked = true;
    if (spec.preDNAT) out.pre_dnat = true;
    if (spec.applyOnForward) out.apply_on_forward = true;
  }
  if (spec.performanceHints && spec.performanceHints.length > 0) out.performance_hints = spec.performanceHints;
  if (staged && spec.stagedAction) out.staged_action = spec.stagedAction;
  return out;
}
