import { isObject } from "../../v3/json-object.ts";
import { type Fields, isAbsent, readBoolean, readList, readNumber, readWord, readWords } from "../field.ts";
import type { IssueList } from "../issue.ts";
import { dnsLabelProblem } from "../name.ts";
import { PERFORMANCE_HINTS } from "../v1-policy.ts";
import { checkRule } from "./rule.ts";
import { checkSelector } from "./selector.ts";

function checkCommon(issues: IssueList, spec: Fields, namespaced: boolean): void {
  if (!isAbsent(spec["tier"]) && spec["tier"] !== "") issues.check("spec.tier", dnsLabelProblem(spec["tier"]));
  readNumber(issues, "spec.order", spec["order"]);
  checkSelector(issues, "spec.selector", spec["selector"]);
  checkSelector(issues, "spec.serviceAccountSelector", spec["serviceAccountSelector"]);
  readWords(issues, "spec.types", spec["types"], ["Ingress", "Egress"]);
  readWords(issues, "spec.performanceHints", spec["performanceHints"], PERFORMANCE_HINTS);
  for (const direction of ["ingress", "egress"] as const) {
    for (const [i, rule] of readList(issues, `spec.${direction}`, spec[direction]).entries())
      checkRule(issues, `spec.${direction}[${i}]`, rule, { direction, namespaced });
  }
}

export function checkNetworkPolicy(issues: IssueList, spec: Fields): void {
  checkCommon(issues, spec, true);
}

export function checkGlobalNetworkPolicy(issues: IssueList, spec: Fields): void {
  checkCommon(issues, spec, false);
  checkSelector(issues, "spec.namespaceSelector", spec["namespaceSelector"]);
  const doNotTrack = readBoolean(issues, "spec.doNotTrack", spec["doNotTrack"]);
  const preDNAT = readBoolean(issues, "spec.preDNAT", spec["preDNAT"]);
  const applyOnForward = readBoolean(issues, "spec.applyOnForward", spec["applyOnForward"]);
  if (doNotTrack === true && preDNAT === true) issues.add("spec.preDNAT", "preDNAT and doNotTrack exclude each other");
  if ((doNotTrack === true || preDNAT === true) && applyOnForward !== true)
    issues.add("spec.applyOnForward", "Expected true, which doNotTrack and preDNAT need");
  if (preDNAT === true) {
    const { egress, types } = spec;
    if (Array.isArray(egress) && egress.length > 0) issues.add("spec.egress", "A preDNAT policy has no egress rules");
    if (Array.isArray(types) && types.includes("Egress"))
      issues.add("spec.types", "A preDNAT policy has no egress rules");
  }
}

const STAGED_ACTIONS = ["Set", "Delete", "Learn", "Ignore", ""] as const;

/** What may be said beside `stagedAction: Delete`. The types may, since they are filled in by default. */
const BESIDE_DELETE: ReadonlySet<string> = new Set(["tier", "stagedAction", "types", "policyTypes"]);

function isZero(value: unknown): boolean {
  if (isAbsent(value) || value === "" || value === false || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.values(value).every(isZero);
}

/** The action of a staged policy. One that deletes says which policy, and nothing of its content. */
export function checkStagedAction(issues: IssueList, spec: Fields): void {
  if (readWord(issues, "spec.stagedAction", spec["stagedAction"], STAGED_ACTIONS) !== "Delete") return;
  for (const [name, value] of Object.entries(spec))
    if (!BESIDE_DELETE.has(name) && !isZero(value))
      issues.add(`spec.${name}`, "May not be set in a staged policy that deletes");
}
