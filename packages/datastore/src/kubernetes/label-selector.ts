import { type LabelSelector, ORCHESTRATOR_LABEL } from "@bulrush/model";

function quoted(values: readonly string[] | undefined): string {
  return (values ?? []).map((value) => `'${value}'`).join(", ");
}

/** Readable selectors only: what the check of its policy lets in. Begins with `first`; "" for no condition at all. */
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
