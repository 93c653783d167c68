import { type SelectorBounds, readSelector } from "@bulrush/selector";
import { expectedBut } from "./issue.ts";

/** The text of a selector. `bounds` are those of the selector package; authored text gets the narrower ones. */
export function selectorProblem(value: unknown, bounds?: SelectorBounds): string | undefined {
  if (typeof value !== "string") return expectedBut("a selector", value);
  if (value === "") return undefined;
  const result = readSelector(value, bounds);
  return result.ok ? undefined : result.error.message;
}
