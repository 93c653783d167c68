import {
  NAME_LABEL,
  NAMESPACE_LABEL,
  NAMESPACE_LABEL_PREFIX,
  SERVICE_ACCOUNT_LABEL_PREFIX,
} from "../../v1/well-known.ts";
import { BUILT_IN_TIERS } from "../../v3/policy-defaults.ts";
import {
  type Fields,
  isAbsent,
  readBoolean,
  readList,
  readNumber,
  readObject,
  readString,
  readWord,
} from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { dnsSubdomainProblem, labelKeyProblem, labelValueProblem } from "../name.ts";
import { netProblem } from "../net.ts";
import { checkRule } from "./rule.ts";

/** The tiers that always exist have the values that they must have. */
export function checkTier(issues: IssueList, spec: Fields, metadata: Fields): void {
  const order = readNumber(issues, "spec.order", spec["order"]);
  const action = readWord(issues, "spec.defaultAction", spec["defaultAction"], ["Deny", "Pass"]);
  const { name } = metadata;
  const fixed = typeof name === "string" && Object.hasOwn(BUILT_IN_TIERS, name) ? BUILT_IN_TIERS[name] : undefined;
  if (fixed === undefined) return;
  const which = `of tier "${String(name)}"`;
  if (order !== undefined && order !== fixed.order)
    issues.add("spec.order", expectedBut(`the fixed order ${fixed.order} ${which}`, order));
  if (action !== undefined && action !== fixed.defaultAction)
    issues.add("spec.defaultAction", expectedBut(`the fixed action ${fixed.defaultAction} ${which}`, action));
}

/** Namespaced and global sets. The namespace label is set for a set, never by it. */
export function checkNetworkSet(issues: IssueList, spec: Fields, metadata: Fields): void {
  for (const [i, net] of readList(issues, "spec.nets", spec["nets"]).entries())
    issues.check(`spec.nets[${i}]`, netProblem(net));
  const { labels } = metadata;
  if (typeof labels === "object" && labels !== null && NAMESPACE_LABEL in labels)
    issues.add(`metadata.labels[${NAMESPACE_LABEL}]`, "May not be set by hand");
}

export function checkProfile(issues: IssueList, spec: Fields): void {
  for (const direction of ["ingress", "egress"] as const) {
    for (const [i, rule] of readList(issues, `spec.${direction}`, spec[direction]).entries())
      checkRule(issues, `spec.${direction}[${i}]`, rule, { direction, namespaced: false });
  }
  checkAppliedLabels(issues, spec["labelsToApply"]);
}

/**
 * The labels of a namespace or a service account carry a prefix that does not count towards their length. Its name stands
 * among them, and may be longer than a label's value: without the profile the policies that select by its labels would
 * not apply.
 */
function checkAppliedLabels(issues: IssueList, labels: unknown): void {
  const prefixes = [NAMESPACE_LABEL_PREFIX, SERVICE_ACCOUNT_LABEL_PREFIX];
  for (const [key, value] of Object.entries(readObject(issues, "spec.labelsToApply", labels) ?? {})) {
    const own = key.slice(prefixes.find((prefix) => key.startsWith(prefix))?.length ?? 0);
    const isName = own !== key && own === NAME_LABEL;
    const problem = labelKeyProblem(own) ?? (isName ? dnsSubdomainProblem(value) : labelValueProblem(value));
    issues.check(`spec.labelsToApply[${key}]`, problem);
  }
}

export function checkClusterInformation(issues: IssueList, spec: Fields): void {
  for (const name of ["clusterGUID", "clusterType", "calicoVersion", "variant"])
    readString(issues, `spec.${name}`, spec[name]);
  if (!isAbsent(spec["datastoreReady"])) readBoolean(issues, "spec.datastoreReady", spec["datastoreReady"]);
}
