import type { KindFacts } from "../../v3/kind.ts";
import { isObject } from "../../v3/json-object.ts";
import { isAbsent, readObject } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";
import { dnsLabelProblem, labelKeyProblem, labelValueProblem } from "../name.ts";

/** Keys and values of all annotations together, in UTF-16 code units. As in Kubernetes. */
const MAX_ANNOTATIONS_SIZE = 262_144;

/** Labels as Kubernetes has them. */
function checkLabelMap(issues: IssueList, path: string, labels: unknown): void {
  for (const [key, value] of Object.entries(readObject(issues, path, labels) ?? {})) {
    issues.check(`${path}[${key}]`, labelKeyProblem(key) ?? labelValueProblem(value));
  }
}

/** Annotations: keys like those of labels (in any case), values of any text. */
export function checkAnnotations(issues: IssueList, path: string, annotations: unknown): void {
  let size = 0;
  for (const [key, value] of Object.entries(readObject(issues, path, annotations) ?? {})) {
    issues.check(`${path}[${key}]`, labelKeyProblem(key.toLowerCase()));
    if (typeof value === "string") size += key.length + value.length;
    else issues.add(`${path}[${key}]`, expectedBut("a string", value));
  }
  if (size > MAX_ANNOTATIONS_SIZE)
    issues.add(path, `Expected at most ${MAX_ANNOTATIONS_SIZE} characters of annotations, found ${size}`);
}

/**
 * Name, namespace, labels and annotations. A namespaced resource without a namespace is in `default`; a namespace on
 * a kind that has none is an issue.
 */
export function checkMetadata(
  issues: IssueList,
  facts: KindFacts,
  metadata: unknown,
  nameProblem: (name: unknown) => string | undefined,
): void {
  if (!isObject(metadata)) {
    issues.add("metadata", expectedBut("an object", metadata));
    return;
  }
  issues.check("metadata.name", nameProblem(metadata["name"]));
  const { namespace } = metadata;
  if (!isAbsent(namespace) && namespace !== "") {
    if (facts.namespaced) issues.check("metadata.namespace", dnsLabelProblem(namespace));
    else issues.add("metadata.namespace", expectedBut(`none: a ${facts.kind} has no namespace`, namespace));
  }
  checkLabelMap(issues, "metadata.labels", metadata["labels"]);
  checkAnnotations(issues, "metadata.annotations", metadata["annotations"]);
}
