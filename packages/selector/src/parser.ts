import { SelectorError, syntaxError } from "./errors.ts";
import { Lexer, Token } from "./lexer.ts";
import {
  ALL,
  andNode,
  GLOBAL,
  notNode,
  Op,
  orNode,
  parsedHas,
  parsedSet,
  parsedValue,
  type SelectorNode,
  type ValueOp,
} from "./node.ts";

/** How big a selector may be. */
export interface SelectorBounds {
  /** In UTF-16 code units. */
  readonly maxLength: number;
  /** Nested parentheses, and nested and/or groups. */
  readonly maxDepth: number;
}

/** For what a person wrote: the validators use it. */
export const AUTHORED_BOUNDS: SelectorBounds = { maxLength: 65_536, maxDepth: 100 };

/**
 * For everything, authored or made by a translation. A translated selector joins up to three authored ones with
 * prefixed labels, so whatever {@link AUTHORED_BOUNDS} lets in stays readable after the translation.
 */
export const DEFAULT_BOUNDS: SelectorBounds = { maxLength: 1_048_576, maxDepth: 256 };

/*
 * or    = and { "||" and }
 * and   = not { "&&" not }
 * not   = { "!" } ( "has(" label ")" | "all()" | "global()" | label op string | label ["not"] "in" set | "(" or ")" )
 * set   = "{" [ string { "," string } [ "," ] ] "}"
 */

/** Reads a selector into its tree. Blank text is `all()`. Throws {@link SelectorError}. */
export function parseNode(text: string, bounds: SelectorBounds = DEFAULT_BOUNDS): SelectorNode {
  if (text.length > bounds.maxLength) {
    const expected = `at most ${bounds.maxLength} characters`;
    const found = `${text.length}`;
    throw new SelectorError("SELECTOR_TOO_LONG", `Cannot parse selector: expected ${expected}, found ${found}`, {
      position: bounds.maxLength,
      expected,
      found,
    });
  }
  const lexer = new Lexer(text);
  if (lexer.next() === Token.end) return ALL;
  const node = parseOr(lexer, bounds, 0);
  if (lexer.token !== Token.end) throw syntaxError(text, lexer.start, '"&&", "||" or the end');
  return node;
}

function tooDeep(position: number, bounds: SelectorBounds): SelectorError {
  const expected = `at most ${bounds.maxDepth} nested groups`;
  return new SelectorError("SELECTOR_TOO_DEEP", `Cannot parse selector at position ${position}: expected ${expected}`, {
    position,
    expected,
    found: "more",
  });
}

function checkDepth(node: SelectorNode, lexer: Lexer, bounds: SelectorBounds): SelectorNode {
  if (node.depth > bounds.maxDepth) throw tooDeep(lexer.start, bounds);
  return node;
}

function parseOr(lexer: Lexer, bounds: SelectorBounds, parens: number): SelectorNode {
  const first = parseAnd(lexer, bounds, parens);
  if (lexer.token !== Token.or) return first;
  const operands = [first];
  while (lexer.token === Token.or) {
    lexer.next();
    operands.push(parseAnd(lexer, bounds, parens));
  }
  return checkDepth(orNode(operands), lexer, bounds);
}

function parseAnd(lexer: Lexer, bounds: SelectorBounds, parens: number): SelectorNode {
  const first = parseNot(lexer, bounds, parens);
  if (lexer.token !== Token.and) return first;
  const operands = [first];
  while (lexer.token === Token.and) {
    lexer.next();
    operands.push(parseNot(lexer, bounds, parens));
  }
  return checkDepth(andNode(operands), lexer, bounds);
}

function parseNot(lexer: Lexer, bounds: SelectorBounds, parens: number): SelectorNode {
  let negated = false;
  while (lexer.token === Token.not) {
    negated = !negated;
    lexer.next();
  }
  const operand = parseOperand(lexer, bounds, parens);
  return negated ? notNode(operand) : operand;
}

/** Reads one operand and moves past it. */
function parseOperand(lexer: Lexer, bounds: SelectorBounds, parens: number): SelectorNode {
  let node: SelectorNode;
  switch (lexer.token) {
    case Token.has:
      node = parsedHas(lexer.value);
      break;
    case Token.all:
      node = ALL;
      break;
    case Token.global:
      node = GLOBAL;
      break;
    case Token.label:
      node = parseTerm(lexer, lexer.value);
      break;
    case Token.leftParen:
      if (parens >= bounds.maxDepth) throw tooDeep(lexer.start, bounds);
      lexer.next();
      node = parseOr(lexer, bounds, parens + 1);
      checkRightParen(lexer);
      break;
    default:
      throw syntaxError(lexer.text, lexer.start, 'a label, "(", "!", has(), all() or global()');
  }
  lexer.next();
  return node;
}

function checkRightParen(lexer: Lexer): void {
  if (lexer.token !== Token.rightParen) throw syntaxError(lexer.text, lexer.start, '"&&", "||" or ")"');
}

function parseTerm(lexer: Lexer, label: string): SelectorNode {
  switch (lexer.next()) {
    case Token.equal:
      return parseValue(lexer, Op.equal, label);
    case Token.notEqual:
      return parseValue(lexer, Op.notEqual, label);
    case Token.contains:
      return parseValue(lexer, Op.contains, label);
    case Token.startsWith:
      return parseValue(lexer, Op.startsWith, label);
    case Token.endsWith:
      return parseValue(lexer, Op.endsWith, label);
    case Token.in:
      return parsedSet(Op.in, label, parseSet(lexer));
    case Token.notIn:
      return parsedSet(Op.notIn, label, parseSet(lexer));
    default:
      throw syntaxError(lexer.text, lexer.start, `an operator after label "${label}"`);
  }
}

function parseValue(lexer: Lexer, op: ValueOp, label: string): SelectorNode {
  if (lexer.next() !== Token.string) throw syntaxError(lexer.text, lexer.start, "a quoted string");
  return parsedValue(op, label, lexer.value);
}

function parseSet(lexer: Lexer): readonly string[] {
  if (lexer.next() !== Token.leftBrace) throw syntaxError(lexer.text, lexer.start, '"{"');
  const values: string[] = [];
  while (lexer.next() !== Token.rightBrace) {
    if (lexer.token !== Token.string) throw syntaxError(lexer.text, lexer.start, 'a quoted string or "}"');
    values.push(lexer.value);
    const after = lexer.next();
    if (after === Token.rightBrace) break;
    if (after !== Token.comma) throw syntaxError(lexer.text, lexer.start, '"," or "}"');
  }
  return values;
}
