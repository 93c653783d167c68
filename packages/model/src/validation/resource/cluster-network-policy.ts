import { addChecked, list, object, oneOf } from "../check.ts";
import { clusterPolicyPriority, clusterPolicyRule, clusterPolicySubject } from "../cluster-policy-check.ts";
import { type Fields, isAbsent } from "../field.ts";
import type { IssueList } from "../issue.ts";

const spec = object({
  tier: oneOf("Admin", "Baseline"),
  priority: clusterPolicyPriority,
  subject: clusterPolicySubject,
  ingress: list(clusterPolicyRule("ingress", false)),
  egress: list(clusterPolicyRule("egress", false)),
});

const REQUIRED = {
  tier: "Admin or Baseline",
  priority: "a number from 0 to 1000",
  subject: "namespaces or pods",
} as const;

/**
 * policy.networking.k8s.io/v1alpha2 ClusterNetworkPolicy. A kind of peer that we do not know is no issue: its rule is
 * closed when it is translated.
 */
export function checkClusterNetworkPolicy(issues: IssueList, fields: Fields): void {
  addChecked(issues, "spec", spec, fields);
  for (const [name, expected] of Object.entries(REQUIRED))
    if (isAbsent(fields[name])) issues.add(`spec.${name}`, `Expected ${expected}, found none`);
}
