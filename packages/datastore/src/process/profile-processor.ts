import { isObject, type ProfileRules, type ProfileSpec } from "@bulrush/model";
import { issuesOf } from "@bulrush/model/check";
import { specErrors } from "./issue.ts";
import { withCanonicalWords } from "./policy/canonical-words.ts";
import { profileSpec } from "./policy/check-policy.ts";
import { convertRule } from "./policy/rule.ts";
import { processed, type ProcessedKV, simpleProcessor, type UpdateProcessor } from "./processor.ts";
import { sortedMap } from "./sorted-map.ts";

/**
 * Profiles: three keys each. One that cannot be read keeps the version before it, as rules may deny by its labels; one
 * that was never read well has no keys, and a profile that is missing lets nothing through.
 */
export function profileProcessor(): UpdateProcessor {
  return simpleProcessor(({ item, value, issues = [] }) => {
    const { name } = item;
    const outputs = (
      rules: ProfileRules | undefined,
      labels: ReadonlyMap<string, string> | undefined,
      isUnreadable = false,
    ): readonly ProcessedKV[] => {
      const rest = isUnreadable ? { isUnreadable } : {};
      return [
        { key: { type: "ProfileRules", name }, value: rules, ...rest },
        { key: { type: "ProfileLabels", name }, value: labels, ...rest },
        { key: { type: "Resource", kind: "Profile", namespace: "", name }, value: rules && value, ...rest },
      ];
    };
    const written = withCanonicalWords(value?.spec ?? {});
    const found = value === undefined ? [] : issuesOf(profileSpec, written);
    if (value === undefined || found.length > 0) {
      const all = [...issues, ...specErrors(found)];
      const isUnreadable = all.some(({ severity }) => severity === "error");
      return processed(outputs(undefined, undefined, isUnreadable), all);
    }
    const spec: ProfileSpec = isObject(written) ? written : {};
    const rules: ProfileRules = {
      inbound_rules: (spec.ingress ?? []).map((rule) => convertRule({ rule }, "")),
      outbound_rules: (spec.egress ?? []).map((rule) => convertRule({ rule }, "")),
    };
    const labels = spec.labelsToApply ?? {};
    return processed(outputs(rules, Object.keys(labels).length > 0 ? sortedMap(labels) : undefined), issues);
  });
}
