import { unreachable } from "@bulrush/base";
import type { Key } from "../v1/key.ts";
import type { Value } from "../v1/value.ts";
import { isObject } from "../v3/json-object.ts";
import { readNumber, readWord } from "./field.ts";
import { expectedBut, type Issue, IssueList } from "./issue.ts";
import { checkKeyedResource } from "./keyed-resource.ts";
import { checkBlock, checkIPPool, checkWireguard } from "./v1-address-plan.ts";
import { checkHostEndpoint, checkLabels, checkNetworkSet, checkWorkloadEndpoint } from "./v1-endpoint.ts";
import { checkPolicy, checkRuleLists } from "./v1-policy.ts";

/**
 * What is wrong with a v1 value; empty when nothing is. Values come from outside (a datastore, the wire), so nothing
 * is taken for granted about their shape, whatever the type says. Every text that the graph reads later (selectors,
 * networks, ports) is readable in a value without issues.
 */
export function validateV1(key: Key, value: Value): readonly Issue[] {
  const issues = new IssueList();
  checkValue(issues, key, value);
  return issues.issues;
}

function checkTier(issues: IssueList, value: unknown): void {
  if (!isObject(value)) {
    issues.add("", expectedBut("an object", value));
    return;
  }
  readNumber(issues, "order", value["order"]);
  readWord(issues, "defaultAction", value["defaultAction"], ["Deny", "Pass"]);
}

function checkValue(issues: IssueList, key: Key, value: unknown): void {
  switch (key.type) {
    case "WorkloadEndpoint":
      return checkWorkloadEndpoint(issues, value);
    case "HostEndpoint":
      return checkHostEndpoint(issues, value);
    case "Policy":
      return checkPolicy(issues, value);
    case "Tier":
      return checkTier(issues, value);
    case "ProfileRules":
      return checkRuleLists(issues, value);
    case "ProfileLabels":
      return checkLabels(issues, "", value ?? "");
    case "NetworkSet":
      return checkNetworkSet(issues, value);
    case "IPPool":
      return checkIPPool(issues, value);
    case "Block":
      return checkBlock(issues, value);
    case "BlockAffinity":
      if (!isObject(value)) issues.add("", expectedBut("an object", value));
      return;
    case "HostConfig":
    case "GlobalConfig":
      if (typeof value !== "string") issues.add("", expectedBut("a string", value));
      return;
    case "ReadyFlag":
      if (typeof value !== "boolean") issues.add("", expectedBut("true or false", value));
      return;
    case "Wireguard":
      return checkWireguard(issues, value);
    case "Resource":
      return checkKeyedResource(issues, key.kind, value);
    default:
      return unreachable(key);
  }
}
