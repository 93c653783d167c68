import { blockAffinitySpecRead } from "../schema/ipam.ts";
import { RESOURCE_DEFINITIONS } from "../schema/resources.ts";
import type { ObjectShape } from "../schema/shape.ts";
import { CALICO_CRD_V1, CALICO_V3, kindFacts } from "../v3/kind.ts";
import type { Resource } from "../v1/value.ts";
import { isObject } from "../v3/json-object.ts";
import { isAbsent, readObject } from "./field.ts";
import { expectedBut, type Issue, IssueList } from "./issue.ts";
import { checkMetadata } from "./resource/metadata.ts";
import { rulesOf } from "./resource-rules.ts";
import { checkShape } from "./shape.ts";

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
  addShapeIssues(issues, apiVersion, kind, spec);
  return issues.issues;
}

const SPEC_SHAPES: ReadonlyMap<string, ObjectShape> = new Map([
  ...RESOURCE_DEFINITIONS.map(({ kind, spec }) => [`${CALICO_V3} ${kind}`, spec] as const),
  ...RESOURCE_DEFINITIONS.map(({ apiVersion, kind, spec }) => [`${apiVersion} ${kind}`, spec] as const),
  ...[CALICO_CRD_V1, CALICO_V3].map((version) => [`${version} BlockAffinity`, blockAffinitySpecRead] as const),
]);

/** What an API server with our definitions would refuse, as far as the checks before have not said it. */
function addShapeIssues(issues: IssueList, apiVersion: string, kind: string, spec: unknown): void {
  const shape = SPEC_SHAPES.get(`${apiVersion} ${kind}`);
  if (shape === undefined || !isObject(spec)) return;
  const said = new Set(issues.issues.map(({ path }) => path));
  const found = new IssueList();
  checkShape(found, "spec", spec, shape);
  for (const { path, message } of found.issues) if (!said.has(path)) issues.add(path, message);
}
