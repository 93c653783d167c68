import { type DatastoreWriter, resourceIdOf, type StoredResource } from "@bulrush/datastore";
import { KINDS, type PolicyKind } from "@bulrush/model";
import { policyKeyOf } from "../input/policy-kinds.ts";
import { isMissingKind } from "./missing-kind.ts";

/** Every policy of the kinds that `wanted` takes. A kind that this datastore does not have has no policies. */
export async function storedPolicies(
  writer: DatastoreWriter,
  signal: AbortSignal,
  wanted: (kind: PolicyKind) => boolean = () => true,
): Promise<readonly StoredResource[]> {
  // By id: a store may give the same under two names of its kind.
  const found = new Map<string, StoredResource>();
  for (const { apiVersion, kind } of KINDS) {
    const key = policyKeyOf({ apiVersion, kind, metadata: { name: "any" } });
    if (key === undefined || !wanted(key.kind)) continue;
    try {
      for await (const page of writer.list({ apiVersion, kind }, signal))
        for (const stored of page) found.set(JSON.stringify(resourceIdOf(stored.resource)), stored);
    } catch (error) {
      if (!isMissingKind(error)) throw error;
    }
  }
  return [...found.values()];
}
