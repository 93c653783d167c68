import { must } from "@bulrush/base";
import { expressionKey } from "../expression/expression.ts";
import type { RuleState, TableFamily } from "../state.ts";
import type { Statement } from "../statement.ts";
import { anonymousSetKey } from "./anonymous-set.ts";
import { compileOne, compileRule } from "./compile-rule.ts";
import { areIndependent, sharedForms } from "./shared-statement.ts";

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
  const key = areIndependent(rule.statements, family)
    ? rule.statements.map((statement) => statementKey(statement, family)).join(SEPARATOR)
    : wholeKey(rule, family);
  cache[family].set(rule, key);
  return key;
}

const SEPARATOR = "; ";

function statementKey(statement: Statement, family: TableFamily): string {
  const known = sharedForms(statement)?.keys;
  const before = known?.get(family);
  if (before !== undefined) return before;
  const key = compileOne(statement, family)
    .map((expression) => expressionKey(expression, ({ set }) => `@${set}`))
    .join(SEPARATOR);
  known?.set(family, key);
  return key;
}

function wholeKey(rule: RuleState, family: TableFamily): string {
  const { expressions, sets } = compileRule(rule, family);
  return expressions
    .map((expression) =>
      expressionKey(expression, (lookup) =>
        lookup.setId === undefined ? `@${lookup.set}` : anonymousSetKey(must(sets[lookup.setId], "an anonymous set")),
      ),
    )
    .join(SEPARATOR);
}
