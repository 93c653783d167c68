import { must } from "@bulrush/base";
import { expressionKey } from "../expression/expression.ts";
import type { RuleState, TableFamily } from "../state.ts";
import { anonymousSetKey } from "./anonymous-set.ts";
import { compileRule } from "./compile-rule.ts";

const cache: Readonly<Record<TableFamily, WeakMap<RuleState, string>>> = {
  ip: new WeakMap(),
  ip6: new WeakMap(),
  inet: new WeakMap(),
  arp: new WeakMap(),
};

/**
 * The rule's expressions in canonical text: equal for two rules that do the same in the same way. A rule read back from
 * the kernel has the same key as the rule that was written. Comments are not part of it. Remembered per rule object.
 */
export function ruleKey(rule: RuleState, family: TableFamily): string {
  const known = cache[family].get(rule);
  if (known !== undefined) return known;
  const { expressions, sets } = compileRule(rule, family);
  const key = expressions
    .map((expression) =>
      expressionKey(expression, (lookup) =>
        lookup.setId === undefined ? `@${lookup.set}` : anonymousSetKey(must(sets[lookup.setId], "an anonymous set")),
      ),
    )
    .join("; ");
  cache[family].set(rule, key);
  return key;
}
