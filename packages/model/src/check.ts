/**
 * Checks of data of any shape, for whoever reads resources: `@bulrush/model/check`. They are made of small ones, and cost
 * nothing where nothing is wrong.
 */
export {
  below,
  boolean,
  type Check,
  type CheckIssue,
  cidr,
  formatPath,
  integer,
  issuesOf,
  joined,
  list,
  number,
  object,
  oneOf,
  type Path,
  selector,
  stringMap,
  text,
  wrong,
} from "./validation/check.ts";
export {
  clusterPolicyPriority,
  clusterPolicyRule,
  clusterPolicySubject,
} from "./validation/cluster-policy-check.ts";
export { kubernetesPolicySpec, stagedKubernetesPolicySpec } from "./validation/kubernetes-policy-check.ts";
