import type { Resource } from "../v1/value.ts";
import { type Issue, IssueList } from "./issue.ts";

/**
 * What is wrong with a resource as a person writes it; empty when nothing is. A kind that we do not read is one issue,
 * which names it.
 */
export function validateResource(_resource: Resource): readonly Issue[] {
  return new IssueList().issues;
}
