import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SelectorError } from "./errors.ts";
import { Lexer, Token } from "./lexer.ts";
import { AUTHORED_BOUNDS, DEFAULT_BOUNDS } from "./parser.ts";
import { parseSelector, tryParseSelector } from "./selector.ts";

const LABEL_512 = "a".repeat(512);

describe("parseSelector() writes the canonical form", () => {
  const rows: readonly (readonly [text: string, canonical: string])[] = [
    ["", "all()"],
    [" ", "all()"],
    [" \t ", "all()"],
    ["all()", "all()"],
    ["all( )", "all()"],
    ["global()", "global()"],
    ["(all() )", "all()"],
    ["((( all() )))", "all()"],
    ["has(a)", "has(a)"],
    ["has( \ta )", "has(a)"],
    ["! (has( b)||! has(a ))", "!(has(b) || !has(a))"],
    ["a=='b'", 'a == "b"'],
    ["a  ==  'A' ", 'a == "A"'],
    ["a!='b'", 'a != "b"'],
    [`a == 'say "b"'`, `a == 'say "b"'`],
    [`a == "it's"`, `a == "it's"`],
    ["a == ''", 'a == ""'],
    ["a contains'x'", 'a contains "x"'],
    ["a starts with 'x'", 'a starts with "x"'],
    ["a startswith 'x'", 'a starts with "x"'],
    ["a starts \t with 'x'", 'a starts with "x"'],
    ["a endswith'x'", 'a ends with "x"'],
    ["a ends with 'x'", 'a ends with "x"'],
    ["a in {}", "a in {}"],
    ["a in{'c','b',\"a\",'b',}", 'a in {"a", "b", "c"}'],
    ["a not in {'b'}", 'a not in {"b"}'],
    ["a notin{ 'b' , }", 'a not in {"b"}'],
    ["a not \t in {}", "a not in {}"],
    ["in in {'in'}", 'in in {"in"}'],
    ['contains contains "contains"', 'contains contains "contains"'],
    ['label starts  with "v"', 'label starts with "v"'],
    ["has == 'x'", 'has == "x"'],
    ["all == 'x' || global != 'y'", '(all == "x" || global != "y")'],
    ["has(has)", "has(has)"],
    ["has(not) && starts == 'with'", '(has(not) && starts == "with")'],
    ["Az09_./- == 'x'", 'Az09_./- == "x"'],
    ["!!has(a)", "has(a)"],
    ["! ! ! has(a)", "!has(a)"],
    ["!(!has(a))", "has(a)"],
    ["!a == 'b'", '!a == "b"'],
    ["has(a) || has(b) && has(c)", "(has(a) || (has(b) && has(c)))"],
    ["has(a) && has(b) && has(c)", "(has(a) && has(b) && has(c))"],
    ["(has(a) && has(b)) && has(c)", "((has(a) && has(b)) && has(c))"],
    [`${LABEL_512} == 'v'`, `${LABEL_512} == "v"`],
    ["a in {'\u{10000}', '\uffff', '\ue000', 'z'}", 'a in {"z", "\ue000", "\uffff", "\u{10000}"}'],
  ];
  for (const [text, canonical] of rows) {
    it(`${JSON.stringify(text.slice(0, 60))} is ${canonical.slice(0, 60)}`, () => {
      assert.equal(parseSelector(text).text, canonical);
      assert.equal(parseSelector(canonical).text, canonical);
    });
  }
});

describe("parseSelector() refuses and says where", () => {
  const OPERAND = 'a label, "(", "!", has(), all() or global()';
  const rows: readonly (readonly [text: string, position: number, expected: string])[] = [
    [`${LABEL_512}a == 'v'`, 0, "a label of at most 512 characters"],
    [`has(${LABEL_512}a)`, 4, "a label of at most 512 characters"],
    ['label = "v"', 6, '"=="'],
    ["all(", 4, '")"'],
    ["all(a)", 4, '")"'],
    ["all (", 4, 'an operator after label "all"'],
    ["all ()", 4, 'an operator after label "all"'],
    ["has (a)", 4, 'an operator after label "has"'],
    ["global(", 7, '")"'],
    ["has()", 4, 'a label after "has("'],
    ["has( foo", 8, '")"'],
    ["has(a b)", 6, '")"'],
    ['label inf "v"', 6, 'an operator after label "label"'],
    ['label ends withs "v"', 6, 'an operator after label "label"'],
    ['label starts foo "v"', 6, 'an operator after label "label"'],
    ['label in_ {"v"}', 6, 'an operator after label "label"'],
    ["label", 5, 'an operator after label "label"'],
    ["label)", 5, 'an operator after label "label"'],
    ["label other == 'x'", 6, 'an operator after label "label"'],
    ["a == b", 5, "a quoted string"],
    ["a == ", 5, "a quoted string"],
    ["a == 'b", 7, "' to end the string"],
    ['a notin"bar"', 7, '"{"'],
    ["a in 'b'", 5, '"{"'],
    ["a in {b}", 6, 'a quoted string or "}"'],
    ["a in {'b' 'c'}", 10, '"," or "}"'],
    ["a in {,}", 6, 'a quoted string or "}"'],
    ["a in {'b'", 9, '"," or "}"'],
    ["has(a) has(b)", 7, '"&&", "||" or the end'],
    ["has(a))", 6, '"&&", "||" or the end'],
    ["(has(a)", 7, '"&&", "||" or ")"'],
    ["has(a) &&", 9, OPERAND],
    ["&& has(a)", 0, OPERAND],
    ["has(a) & has(b)", 7, '"&&"'],
    ["has(a) | has(b)", 7, '"||"'],
    ["!", 1, OPERAND],
    ["()", 1, OPERAND],
    ["'a' == 'b'", 0, OPERAND],
    ["a ! = 'b'", 2, 'an operator after label "a"'],
    ["a\n== 'b'", 1, 'an operator after label "a"'],
    ["\u00e9 == 'b'", 0, OPERAND],
  ];
  for (const [text, position, expected] of rows) {
    it(JSON.stringify(text.slice(0, 40)), () => {
      const result = tryParseSelector(text);
      assert(!result.ok);
      assert.equal(result.error.code, "SELECTOR_SYNTAX");
      assert.deepEqual([result.error.position, result.error.expected], [position, expected]);
      assert.match(result.error.message, /^Cannot parse selector at position \d+: expected .*, found /);
      assert.throws(() => parseSelector(text), SelectorError);
    });
  }

  it("names what it found, short", () => {
    const found = (text: string): unknown => {
      const result = tryParseSelector(text);
      return result.ok ? undefined : result.error.data["found"];
    };
    assert.equal(found("a == "), "the end");
    assert.equal(found("a == bcd"), '"bcd"');
    assert.equal(found("a == \u{1f600}"), '"\u{1f600}"');
    assert.equal(found(`a == ${"b".repeat(300)}`), `"${"b".repeat(24)}..."`);
  });
});

describe("parseSelector() is bounded", () => {
  const nested = (depth: number): string => "(".repeat(depth) + "has(a)" + ")".repeat(depth);
  /** Alternating groups: one pair of parentheses in the text for each two in the canonical form. */
  const alternating = (levels: number): string => {
    let text = "has(a)";
    for (let i = 0; i < levels; i++) text = `has(b) || has(c) && (${text})`;
    return text;
  };

  it("refuses text over the length", () => {
    const bounds = { maxLength: 10, maxDepth: 5 };
    assert(tryParseSelector("has(abcde)", bounds).ok);
    const result = tryParseSelector("has(abcdef)", bounds);
    assert(!result.ok);
    assert.equal(result.error.code, "SELECTOR_TOO_LONG");
    assert.equal(DEFAULT_BOUNDS.maxLength, 1_048_576);
  });

  it("refuses parentheses nested too deep, whatever the size of the text", () => {
    assert(tryParseSelector(nested(DEFAULT_BOUNDS.maxDepth)).ok);
    for (const depth of [DEFAULT_BOUNDS.maxDepth + 1, 200_000]) {
      const result = tryParseSelector(nested(depth));
      assert(!result.ok);
      assert.equal(result.error.code, "SELECTOR_TOO_DEEP");
    }
  });

  it("accepts the canonical form of whatever it accepts", () => {
    const deepest = parseSelector(alternating(AUTHORED_BOUNDS.maxDepth / 2), AUTHORED_BOUNDS);
    assert.equal(parseSelector(deepest.text, AUTHORED_BOUNDS).text, deepest.text);
    const result = tryParseSelector(alternating(AUTHORED_BOUNDS.maxDepth / 2 + 1), AUTHORED_BOUNDS);
    assert(!result.ok);
    assert.equal(result.error.code, "SELECTOR_TOO_DEEP");
  });

  it("takes any number of negations", () => {
    assert.equal(parseSelector(`${"!".repeat(100_001)}has(a)`).text, "!has(a)");
  });
});

describe("Lexer", () => {
  it("next() takes a word for an operator only after a label", () => {
    const lexer = new Lexer('a notin"bar"');
    const tokens: (Token | string)[] = [];
    while (lexer.next() !== Token.end)
      tokens.push(lexer.token === Token.label || lexer.token === Token.string ? lexer.value : lexer.token);
    assert.deepEqual(tokens, ["a", Token.notIn, "bar"]);
  });
});
