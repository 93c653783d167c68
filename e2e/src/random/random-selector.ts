import type { LabelSelector } from "@bulrush/model";
import { type Choices, definedFields } from "./choices.ts";
import { ACCOUNT_LABELS, NAMESPACE_LABELS, NAMESPACES, POD_LABELS, SERVICE_ACCOUNTS } from "./vocabulary.ts";

type Vocabulary = Readonly<Record<string, readonly string[]>>;

/** Labels for one thing: some of the vocabulary. */
export function randomLabels(choices: Choices, vocabulary: Vocabulary): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [key, values] of Object.entries(vocabulary)) if (choices.chance(0.75)) labels[key] = choices.pick(values);
  return labels;
}

const OPERATORS = ["==", "!=", "contains", "starts with", "ends with"] as const;

function randomTerm(choices: Choices, vocabulary: Vocabulary): string {
  const key = choices.pick(Object.keys(vocabulary));
  const values = vocabulary[key] ?? [];
  const quoted = (text: string): string => (choices.chance(0.5) ? `'${text}'` : `"${text}"`);
  switch (choices.below(8)) {
    case 0:
      return `has(${key})`;
    case 1:
      return "all()";
    case 2:
      return `${key} in {${choices.some(values, 0, 3).map(quoted).join(", ")}}`;
    case 3:
      return `${key} not in {${choices.some(values, 0, 2).map(quoted).join(", ")}}`;
    case 4: {
      const operator = choices.pick(OPERATORS);
      return `${key} ${operator} ${quoted(choices.pick(values).slice(choices.below(2), 3))}`;
    }
    default:
      return `${key} == ${quoted(choices.pick(values))}`;
  }
}

function randomExpression(choices: Choices, vocabulary: Vocabulary, depth: number): string {
  if (depth === 0 || choices.chance(0.55)) return randomTerm(choices, vocabulary);
  const [left, right] = [depth, depth].map(() => randomExpression(choices, vocabulary, depth - 1));
  switch (choices.below(4)) {
    case 0:
      return `!(${left})`;
    case 1:
      return `!${randomTerm(choices, vocabulary)}`;
    case 2:
      return `(${left}) && (${right})`;
    default:
      return `(${left}) || (${right})`;
  }
}

/** A selector over what pods and network sets bear, the labels that come of themselves included. */
export function randomSelector(choices: Choices): string {
  if (choices.chance(0.05)) return "";
  return randomExpression(
    choices,
    {
      ...POD_LABELS,
      ...(choices.chance(0.3) && { "projectcalico.org/namespace": NAMESPACES }),
      ...(choices.chance(0.15) && { "projectcalico.org/serviceaccount": SERVICE_ACCOUNTS }),
      ...(choices.chance(0.15) && { "projectcalico.org/orchestrator": ["k8s"] }),
    },
    2,
  );
}

export function randomNamespaceSelector(choices: Choices): string {
  return randomExpression(choices, { ...NAMESPACE_LABELS, "projectcalico.org/name": NAMESPACES }, 1);
}

export function randomAccountSelector(choices: Choices): string {
  return randomExpression(choices, ACCOUNT_LABELS, 1);
}

/** A label selector of Kubernetes; often empty, which picks all. */
export function randomLabelSelector(choices: Choices, vocabulary: Vocabulary): LabelSelector {
  const keys = Object.keys(vocabulary);
  const labels = choices.maybe(0.5, () => {
    const key = choices.pick(keys);
    return { [key]: choices.pick(vocabulary[key] ?? []) };
  });
  const expressions = choices.maybe(0.35, () =>
    choices.some(keys, 1, 2).map((key) => {
      const operator = choices.pick(["In", "NotIn", "Exists", "DoesNotExist"] as const);
      if (operator === "Exists" || operator === "DoesNotExist") return { key, operator };
      return { key, operator, values: choices.some(vocabulary[key] ?? [], 1, 2) };
    }),
  );
  return definedFields({ matchLabels: labels, matchExpressions: expressions });
}
