import { isObject, type LabelSelector, ORCHESTRATOR_LABEL } from "@bulrush/model";
import { below, type Check, type Issue, joined, list, object, oneOf, text, wrong } from "../process/check.ts";

const NAME = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const KEY = new RegExp(`^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?${NAME}$`);
const VALUE = new RegExp(`^(?:${NAME})?$`);

const labelKey = text((value) => KEY.test(value), "a label name");
const labelValue = text((value) => VALUE.test(value), "a label value");

const requirementFields = object({
  key: labelKey,
  operator: oneOf("In", "NotIn", "Exists", "DoesNotExist"),
  values: list(labelValue),
});

const requirement: Check = (value) => {
  let issues = requirementFields(value);
  if (!isObject(value)) return issues;
  for (const field of ["key", "operator"])
    if ((value[field] ?? undefined) === undefined) issues = joined(issues, wrong("Missing", field));
  const count = Array.isArray(value["values"]) ? value["values"].length : 0;
  const wantsValues = value["operator"] === "In" || value["operator"] === "NotIn";
  if (wantsValues === count > 0) return issues;
  return joined(issues, wrong(wantsValues ? "Needs a value" : "Must be empty for this operator", "values"));
};

const matchLabels: Check = (value) => {
  if (!isObject(value)) return wrong("Expected an object");
  let issues: Issue[] | undefined;
  for (const name of Object.keys(value)) {
    const own = joined(labelKey(name), labelValue(value[name]));
    if (own !== undefined) issues = joined(issues, below(name, own));
  }
  return issues;
};

/** A Kubernetes label selector that can be put into the selector language. */
export const labelSelector: Check = object({ matchLabels, matchExpressions: list(requirement) });

function quoted(values: readonly string[] | undefined): string {
  return (values ?? []).map((value) => `'${value}'`).join(", ");
}

/** Readable selectors only: see {@link labelSelector}. Begins with `first`; "" for no condition at all. */
function labelSelectorText(selector: LabelSelector | undefined | null, first = ""): string {
  let text = first;
  const add = (term: string): void => {
    text = text === "" ? term : `${text} && ${term}`;
  };
  const labels = selector?.matchLabels;
  if (labels) for (const name of Object.keys(labels).sort()) add(`${name} == '${labels[name]}'`);
  for (const { key, operator, values } of selector?.matchExpressions ?? []) {
    switch (operator) {
      case "In":
        add(`${key} in { ${quoted(values)} }`);
        break;
      case "NotIn":
        add(`${key} not in { ${quoted(values)} }`);
        break;
      case "Exists":
        add(`has(${key})`);
        break;
      case "DoesNotExist":
        add(`! has(${key})`);
        break;
    }
  }
  return text;
}

const IS_POD = `${ORCHESTRATOR_LABEL} == 'k8s'`;

/** Pods only: what is not of Kubernetes never matches, not even an empty selector. */
export function podSelectorText(selector: LabelSelector | undefined | null): string {
  return labelSelectorText(selector, IS_POD);
}

/** Absent: "", no condition. Present but empty: every namespace. */
export function namespaceSelectorText(selector: LabelSelector | undefined | null): string {
  if (selector === undefined || selector === null) return "";
  return labelSelectorText(selector) || "all()";
}
