import { policyIdText } from "@bulrush/calc";
import { isObject, type Resource } from "@bulrush/model";
import { policyKeyOf } from "../input/policy-kinds.ts";

/** What begins the kinds of policies that would take the place of the kind behind it. */
const STAGED = "Staged";

/**
 * Ids, as explanations name them, of the policies that staged ones with `stagedAction: Delete` take away once they are
 * enforced. They are no part of what the syncer sends.
 */
export function deletedByStaged(resources: readonly Resource[]): ReadonlySet<string> {
  const out = new Set<string>();
  for (const resource of resources) {
    const { kind = "", name = "", namespace = "" } = policyKeyOf(resource) ?? {};
    const { spec } = resource;
    if (!kind.startsWith(STAGED) || !isObject(spec) || spec["stagedAction"] !== "Delete") continue;
    out.add(policyIdText({ kind: kind.slice(STAGED.length), namespace, name }));
  }
  return out;
}
