import type { Fields } from "../field.ts";
import type { IssueList } from "../issue.ts";
import { addChecked } from "../check.ts";
import { kubernetesPolicySpec, stagedKubernetesPolicySpec } from "../kubernetes-policy-check.ts";

/** networking.k8s.io/v1 NetworkPolicy. */
export function checkKubernetesPolicy(issues: IssueList, spec: Fields): void {
  addChecked(issues, "spec", kubernetesPolicySpec, spec);
}

/** The same inside a staged one. */
export function checkStagedKubernetesPolicy(issues: IssueList, spec: Fields): void {
  addChecked(issues, "spec", stagedKubernetesPolicySpec, spec);
}
