import { syntaxError } from "./errors.ts";
import { MAX_LABEL_LENGTH } from "./node.ts";

/** Kinds of token. A function with its parentheses is one token: `has(a)` carries the label, `all()` nothing. */
export const Token = {
  end: 0,
  label: 1,
  has: 2,
  all: 3,
  global: 4,
  leftParen: 5,
  rightParen: 6,
  leftBrace: 7,
  rightBrace: 8,
  comma: 9,
  string: 10,
  equal: 11,
  notEqual: 12,
  not: 13,
  and: 14,
  or: 15,
  contains: 16,
  startsWith: 17,
  endsWith: 18,
  in: 19,
  notIn: 20,
} as const;

export type Token = (typeof Token)[keyof typeof Token];

/** 1 for the characters of a label: A-Z a-z 0-9 _ . / - */
const LABEL_CHAR = new Uint8Array(128);
for (const char of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-")
  LABEL_CHAR[char.charCodeAt(0)] = 1;

function isLabelChar(code: number): boolean {
  return code < 128 && LABEL_CHAR[code] === 1;
}

const TAB = 9;
const SPACE = 32;
const BANG = 33;
const DOUBLE_QUOTE = 34;
const AMPERSAND = 38;
const SINGLE_QUOTE = 39;
const LEFT_PAREN = 40;
const RIGHT_PAREN = 41;
const COMMA = 44;
const EQUALS = 61;
const LEFT_BRACE = 123;
const BAR = 124;
const RIGHT_BRACE = 125;

/**
 * Cuts a selector into tokens, one at a time and without allocation: the present token is in `token`, `start` and
 * `value`. The words `in`, `contains` and so on are operators only directly after a label; elsewhere they are labels.
 */
export class Lexer {
  readonly text: string;
  /** Kind of the present token. */
  token: Token = Token.end;
  /** Where the present token begins. */
  start = 0;
  /** Name of a label (also of `has`), content of a string, else stale. */
  value = "";
  /** Where the next token is looked for. */
  #position = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** Moves to the next token and returns its kind. Throws SELECTOR_SYNTAX. */
  next(): Token {
    const afterLabel = this.token === Token.label;
    const { text } = this;
    const start = this.#skipBlanks(this.#position);
    this.start = start;
    if (start >= text.length) {
      this.#position = start;
      return (this.token = Token.end);
    }
    switch (text.charCodeAt(start)) {
      case LEFT_PAREN:
        return this.#take(Token.leftParen, 1);
      case RIGHT_PAREN:
        return this.#take(Token.rightParen, 1);
      case LEFT_BRACE:
        return this.#take(Token.leftBrace, 1);
      case RIGHT_BRACE:
        return this.#take(Token.rightBrace, 1);
      case COMMA:
        return this.#take(Token.comma, 1);
      case DOUBLE_QUOTE:
      case SINGLE_QUOTE:
        return this.#string();
      case EQUALS:
        return this.#pair(Token.equal, EQUALS, '"=="');
      case AMPERSAND:
        return this.#pair(Token.and, AMPERSAND, '"&&"');
      case BAR:
        return this.#pair(Token.or, BAR, '"||"');
      case BANG:
        if (text.charCodeAt(start + 1) === EQUALS) return this.#take(Token.notEqual, 2);
        return this.#take(Token.not, 1);
      default:
        return afterLabel ? this.#operatorWord() : this.#labelOrFunction();
    }
  }

  #take(token: Token, length: number): Token {
    this.#position = this.start + length;
    return (this.token = token);
  }

  #pair(token: Token, second: number, expected: string): Token {
    if (this.text.charCodeAt(this.start + 1) !== second) throw syntaxError(this.text, this.start, expected);
    return this.#take(token, 2);
  }

  #skipBlanks(from: number): number {
    const { text } = this;
    let at = from;
    for (let code = text.charCodeAt(at); code === SPACE || code === TAB; code = text.charCodeAt(at)) at++;
    return at;
  }

  #labelEnd(from: number): number {
    const { text } = this;
    let at = from;
    while (isLabelChar(text.charCodeAt(at))) at++;
    return at;
  }

  #string(): Token {
    const quote = this.text.charAt(this.start);
    const end = this.text.indexOf(quote, this.start + 1);
    if (end < 0) throw syntaxError(this.text, this.text.length, `${quote} to end the string`);
    this.value = this.text.slice(this.start + 1, end);
    this.#position = end + 1;
    return (this.token = Token.string);
  }

  #labelOrFunction(): Token {
    const { text, start } = this;
    const end = this.#labelEnd(start);
    if (end === start) throw syntaxError(text, start, 'a label, "(", "!", has(), all() or global()');
    if (end - start > MAX_LABEL_LENGTH)
      throw syntaxError(text, start, `a label of at most ${MAX_LABEL_LENGTH} characters`);
    const word = text.slice(start, end);
    // No blank may stand before the parenthesis of a function: `all (` is a label and an error.
    if (text.charCodeAt(end) === LEFT_PAREN) {
      if (word === "has") return this.#has(end + 1);
      if (word === "all") return this.#empty(Token.all, end + 1);
      if (word === "global") return this.#empty(Token.global, end + 1);
    }
    this.value = word;
    this.#position = end;
    return (this.token = Token.label);
  }

  #has(from: number): Token {
    const begin = this.#skipBlanks(from);
    const end = this.#labelEnd(begin);
    if (end === begin) throw syntaxError(this.text, begin, 'a label after "has("');
    if (end - begin > MAX_LABEL_LENGTH)
      throw syntaxError(this.text, begin, `a label of at most ${MAX_LABEL_LENGTH} characters`);
    this.value = this.text.slice(begin, end);
    return this.#close(Token.has, end);
  }

  #empty(token: Token, from: number): Token {
    return this.#close(token, from);
  }

  #close(token: Token, from: number): Token {
    const end = this.#skipBlanks(from);
    if (this.text.charCodeAt(end) !== RIGHT_PAREN) throw syntaxError(this.text, end, '")"');
    this.#position = end + 1;
    return (this.token = token);
  }

  #operatorWord(): Token {
    const { start } = this;
    let end = this.#word("in", start);
    if (end > 0) return this.#takeTo(Token.in, end);
    end = this.#twoWords("not", "in");
    if (end > 0) return this.#takeTo(Token.notIn, end);
    end = this.#word("contains", start);
    if (end > 0) return this.#takeTo(Token.contains, end);
    end = this.#twoWords("starts", "with");
    if (end > 0) return this.#takeTo(Token.startsWith, end);
    end = this.#twoWords("ends", "with");
    if (end > 0) return this.#takeTo(Token.endsWith, end);
    throw syntaxError(this.text, start, `an operator after label "${this.value}"`);
  }

  #takeTo(token: Token, end: number): Token {
    this.#position = end;
    return (this.token = token);
  }

  /** The end of `word` at `from` when it ends there at a word boundary, else 0. */
  #word(word: string, from: number): number {
    const end = from + word.length;
    return this.text.startsWith(word, from) && !isLabelChar(this.text.charCodeAt(end)) ? end : 0;
  }

  /** The end of two words that are glued together or have blanks between them, else 0. */
  #twoWords(first: string, second: string): number {
    if (!this.text.startsWith(first, this.start)) return 0;
    return this.#word(second, this.#skipBlanks(this.start + first.length));
  }
}
