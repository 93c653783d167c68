import { isObject, type Tier, type TierKey } from "@bulrush/model";
import { issuesOf, number, object, oneOf } from "@bulrush/model/check";
import { specErrors } from "./issue.ts";
import { type Processed, type ProcessorInput, simpleProcessor, type UpdateProcessor } from "./processor.ts";

const tierSpec = object({ order: number, defaultAction: oneOf("Allow", "Deny", "Pass", "Log") });

/**
 * Tiers. What is unreadable closes: a default action that is not Pass denies, an order that is none puts the tier last,
 * so that nothing in it lets through what other tiers stop.
 */
export function tierProcessor(): UpdateProcessor {
  return simpleProcessor(processTier);
}

function processTier({ item, value, issues = [] }: ProcessorInput): Processed {
  const key: TierKey = { type: "Tier", name: item.name };
  if (value === undefined && issues.length === 0)
    return { outputs: [{ key, value: undefined }], issues, isClosedForm: false };
  const found = issuesOf(tierSpec, value?.spec ?? {});
  const spec = isObject(value?.spec) ? value.spec : {};
  const isOrderKnown = typeof spec["order"] === "number" && !found.some(({ path }) => path[0] === "order");
  const tier: Tier = {
    ...(isOrderKnown && { order: spec["order"] as number }),
    defaultAction: spec["defaultAction"] === "Pass" ? "Pass" : "Deny",
  };
  return {
    outputs: [{ key, value: tier }],
    issues: [...issues, ...specErrors(found)],
    isClosedForm: value === undefined || found.length > 0,
  };
}
