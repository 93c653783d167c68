import { canonicalCidr } from "@bulrush/ip";
import { isObject, NAMESPACE_LABEL, NAMESPACE_PROFILE_PREFIX, type NetworkSet, type Resource } from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import { errorAt } from "./issue.ts";
import { isUnreadable, processed, simpleProcessor, type UpdateProcessor } from "./processor.ts";
import { sortedMap } from "./sorted-map.ts";

/*
 * A set keeps its last good version while a net of it cannot be read, as a rule may deny by it: a set that shrinks
 * because of a slip would open what the rule closes. One that was never read well has the nets that can be read.
 */

/** NetworkSets: also in their namespace's profile, so that rules with a namespace selector find them. */
export function networkSetProcessor(): UpdateProcessor {
  return setProcessor((namespace) => ({
    label: [[NAMESPACE_LABEL, namespace]],
    rest: { profile_ids: [NAMESPACE_PROFILE_PREFIX + namespace] },
  }));
}

export function globalNetworkSetProcessor(): UpdateProcessor {
  return setProcessor(() => ({ label: [], rest: {} }));
}

interface Belonging {
  readonly label: readonly (readonly [string, string])[];
  readonly rest: Pick<NetworkSet, "profile_ids">;
}

function setProcessor(belongingOf: (namespace: string) => Belonging): UpdateProcessor {
  return simpleProcessor(({ item, value, issues = [] }) => {
    const key = {
      type: "NetworkSet",
      name: item.namespace === "" ? item.name : `${item.namespace}/${item.name}`,
    } as const;
    if (value === undefined) return processed([{ key, value, isUnreadable: isUnreadable(issues) }], issues);
    const found: ItemIssue[] = [...issues];
    const { label, rest } = belongingOf(item.namespace);
    const set: NetworkSet = {
      nets: netsOf(value, found),
      labels: sortedMap(value.metadata.labels ?? {}, label),
      ...rest,
    };
    const isClosedForm = found.length > issues.length;
    return { outputs: [{ key, value: set }], issues: found, isClosedForm, effect: "left out" };
  });
}

function netsOf({ spec }: Resource, issues: ItemIssue[]): string[] {
  if (spec !== undefined && spec !== null && !isObject(spec)) issues.push(errorAt("spec", "Expected an object"));
  // What a field that we do not know would add is not known either.
  for (const name of Object.keys(isObject(spec) ? spec : {}))
    if (name !== "nets") issues.push(errorAt(`spec.${name}`, "Unknown field"));
  const nets = isObject(spec) ? spec["nets"] : undefined;
  if (nets === undefined || nets === null) return [];
  if (!Array.isArray(nets)) {
    issues.push(errorAt("spec.nets", `Expected a list, found ${JSON.stringify(nets)}`));
    return [];
  }
  const out = new Set<string>();
  for (const [i, net] of nets.entries()) {
    const canonical = typeof net === "string" ? canonicalCidr(net) : undefined;
    if (canonical === undefined)
      issues.push(errorAt(`spec.nets[${i}]`, `Expected an address or CIDR, found ${JSON.stringify(net)}`));
    else out.add(canonical);
  }
  return [...out];
}
