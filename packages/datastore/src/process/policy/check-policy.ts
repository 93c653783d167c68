import { boolean, type Check, list, number, object, oneOf, selector, stringMap, text } from "@bulrush/model/check";
import { rulesOf } from "./check-rule.ts";

const types = list(oneOf("Ingress", "Egress"));

const commonFields: Readonly<Record<string, Check>> = {
  tier: text((value) => /^[A-Za-z0-9_.-]{0,128}$/.test(value), "the name of a tier"),
  order: number,
  selector: selector(),
  serviceAccountSelector: selector(),
  types,
  performanceHints: list(oneOf("AssumeNeededOnEveryNode")),
};

const namespacedFields: Readonly<Record<string, Check>> = { ...commonFields, ...rulesOf(true) };

const globalFields: Readonly<Record<string, Check>> = {
  ...commonFields,
  ...rulesOf(false),
  namespaceSelector: selector(),
  doNotTrack: boolean,
  preDNAT: boolean,
  applyOnForward: boolean,
};

const stagedAction = oneOf("Set", "Delete", "Learn", "Ignore", "");

type CheckedPolicyKind = "NetworkPolicy" | "GlobalNetworkPolicy" | "StagedNetworkPolicy" | "StagedGlobalNetworkPolicy";

/** The spec of each kind of Calico policy. */
export const POLICY_SPEC_CHECKS: Readonly<Record<CheckedPolicyKind, Check>> = {
  NetworkPolicy: object(namespacedFields),
  GlobalNetworkPolicy: object(globalFields),
  StagedNetworkPolicy: object({ ...namespacedFields, stagedAction }),
  StagedGlobalNetworkPolicy: object({ ...globalFields, stagedAction }),
};

/** The spec of a profile. */
export const profileSpec: Check = object({ ...rulesOf(false), labelsToApply: stringMap });
