import { kindFacts } from "../v3/kind.ts";
import type { Resource } from "../v1/value.ts";
import { isObject } from "../v3/json-object.ts";
import { isAbsent, readObject } from "./field.ts";
import { expectedBut, type Issue, IssueList } from "./issue.ts";
import { checkMetadata } from "./resource/metadata.ts";
import { rulesOf } from "./resource-rules.ts";

const TOP_FIELDS: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "spec", "status"]);

/**
 * What is wrong with a resource as a person writes it; empty when nothing is. A kind that we do not read is one issue,
 * which names it. In the kinds of policy, and in those that policies refer to, a field that we do not know is an issue:
 * a misspelt condition would otherwise make its rule match more.
 *
 * Nothing is taken for granted about the shape of `resource`, whatever the type says.
 */
export function validateResource(resource: Resource): readonly Issue[] {
  const issues = new IssueList();
  const given: unknown = resource;
  if (!isObject(given)) {
    issues.add("", expectedBut("a resource", given));
    return issues.issues;
  }
  const { apiVersion, kind } = given;
  for (const name of ["apiVersion", "kind"])
    if (typeof given[name] !== "string" || given[name] === "") issues.add(name, expectedBut("a string", given[name]));
  if (typeof apiVersion !== "string" || typeof kind !== "string" || issues.issues.length > 0) return issues.issues;
  const facts = kindFacts(apiVersion, kind);
  if (facts === undefined) {
    issues.add("kind", `Unknown kind "${kind}" of apiVersion "${apiVersion}"`);
    return issues.issues;
  }
  const rules = rulesOf(facts);
  checkMetadata(issues, facts, given["metadata"], rules.nameProblem);
  if (rules.specFields !== undefined) readObject(issues, "", given, TOP_FIELDS);
  const spec = readObject(issues, "spec", given["spec"], rules.specFields);
  if (isAbsent(given["status"]) || isObject(given["status"])) {
    rules.check?.(issues, {
      resource: given,
      metadata: isObject(given["metadata"]) ? given["metadata"] : {},
      spec: spec ?? {},
      status: isObject(given["status"]) ? given["status"] : {},
    });
  } else issues.add("status", expectedBut("an object", given["status"]));
  return issues.issues;
}
