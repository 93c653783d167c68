import type { ResourceKind } from "../v1/key.ts";
import { isObject } from "./field.ts";
import { expectedBut, type IssueList } from "./issue.ts";

/** A resource that travels in its own shape. Its metadata must be there. */
export function checkKeyedResource(issues: IssueList, _kind: ResourceKind, value: unknown): void {
  if (!isObject(value)) {
    issues.add("", expectedBut("a resource", value));
    return;
  }
  const { metadata } = value;
  if (!isObject(metadata) || typeof metadata["name"] !== "string")
    issues.add("metadata.name", expectedBut("a name", isObject(metadata) ? metadata["name"] : undefined));
}
