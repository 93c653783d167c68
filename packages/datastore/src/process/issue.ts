import type { ItemIssue } from "../driver/item-issue.ts";
import { type CheckIssue, formatPath } from "@bulrush/model/check";

/** A found issue in the form that is reported. */
export function errorAt(field: string, message: string): ItemIssue {
  return { severity: "error", field, message };
}

/** Something that was left out, or is surely not meant, while the rest goes on. */
export function warningAt(field: string, message: string): ItemIssue {
  return { severity: "warning", field, message };
}

/** Issues of a check on a spec. */
export function specErrors(issues: readonly CheckIssue[]): ItemIssue[] {
  return issues.map(({ path, message }) => errorAt(formatPath(["spec", ...path]), message));
}
