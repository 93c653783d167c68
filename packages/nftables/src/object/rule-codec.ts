import { must } from "@bulrush/base";
import { type MessageReader, type MessageWriter, NFGEN_BYTES } from "@bulrush/netlink";
import { type CompiledRule, compileOne } from "../compile/compile-rule.ts";
import { sharedForms } from "../compile/shared-statement.ts";
import { type Expression, type ReadExpression, readExpressions, writeExpression } from "../expression/expression.ts";
import type { TableFamily } from "../state.ts";
import type { Statement } from "../statement.ts";
import { readComment, ruleUserData } from "./user-data.ts";

/** enum nft_rule_attributes */
const NFTA_RULE = { TABLE: 1, CHAIN: 2, HANDLE: 3, EXPRESSIONS: 4, POSITION: 6, USERDATA: 7 } as const;

/** Where a rule is: with neither `handle` nor `position`, the whole chain. */
export interface RulePlace {
  readonly table: string;
  readonly chain: string;
  /** The rule itself: to replace or delete it. */
  readonly handle?: number;
  /** The rule that a new one goes in front of. */
  readonly position?: number;
}

export function writeRulePlace(writer: MessageWriter, place: RulePlace): void {
  writer.attrString(NFTA_RULE.TABLE, place.table);
  if (place.chain !== "") writer.attrString(NFTA_RULE.CHAIN, place.chain);
  if (place.handle !== undefined) writer.attrU64be(NFTA_RULE.HANDLE, place.handle);
  if (place.position !== undefined) writer.attrU64be(NFTA_RULE.POSITION, place.position);
}

/** `setIds` are the ids of the rule's anonymous sets, which were made before it in the same batch. */
export function writeRuleBody(
  writer: MessageWriter,
  rule: CompiledRule,
  comment: string | undefined,
  setIds: readonly number[],
): void {
  const list = writer.nest(NFTA_RULE.EXPRESSIONS);
  for (const expression of rule.expressions) writeExpression(writer, withSetId(expression, setIds));
  writer.endNest(list);
  writeRuleComment(writer, comment);
}

/** Statements that are independent of each other: shared ones are copied. Throws NFT_INVALID. */
export function writeRuleStatements(
  writer: MessageWriter,
  statements: readonly Statement[],
  family: TableFamily,
): void {
  const list = writer.nest(NFTA_RULE.EXPRESSIONS);
  for (const statement of statements) {
    const known = sharedForms(statement)?.bytes;
    const bytes = known?.get(family);
    if (bytes !== undefined) {
      writer.raw(bytes);
      continue;
    }
    const start = writer.length;
    for (const expression of compileOne(statement, family)) writeExpression(writer, expression);
    known?.set(family, writer.bytes.slice(start));
  }
  writer.endNest(list);
}

export function writeRuleComment(writer: MessageWriter, comment: string | undefined): void {
  if (comment !== undefined) writer.attrBytes(NFTA_RULE.USERDATA, ruleUserData(comment));
}

function withSetId(expression: Expression, setIds: readonly number[]): Expression {
  if (expression.name !== "lookup" || expression.setId === undefined) return expression;
  return { ...expression, setId: must(setIds[expression.setId], "the id of an anonymous set") };
}

export interface DecodedRule {
  readonly table: string;
  readonly chain: string;
  readonly handle: number;
  readonly expressions: readonly ReadExpression[];
  readonly comment: string | undefined;
}

export function readRule(message: MessageReader): DecodedRule {
  let table = "";
  let chain = "";
  let handle = 0;
  let expressions: readonly ReadExpression[] = [];
  let comment: string | undefined;
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next()) {
    switch (attributes.type) {
      case NFTA_RULE.TABLE:
        table = attributes.string();
        break;
      case NFTA_RULE.CHAIN:
        chain = attributes.string();
        break;
      case NFTA_RULE.HANDLE:
        handle = Number(attributes.u64be());
        break;
      case NFTA_RULE.EXPRESSIONS:
        expressions = readExpressions(attributes.nested());
        break;
      case NFTA_RULE.USERDATA:
        comment = readComment(attributes.bytes());
        break;
    }
  }
  return { table, chain, handle, expressions, comment };
}
