import { CodedError } from "@bulrush/base";

/** Every code that this package throws. A code is never reused for another meaning. */
export const SELECTOR_ERROR_CODES = [
  /** The text is not in the language. */
  "SELECTOR_SYNTAX",
  /** The text is longer than the bound. */
  "SELECTOR_TOO_LONG",
  /** Groups are nested deeper than the bound. */
  "SELECTOR_TOO_DEEP",
  /** A label name or value that was put into a selector by a program cannot be written in the language. */
  "SELECTOR_UNWRITABLE",
] as const;

/** Match on it, not on messages. */
export type SelectorErrorCode = (typeof SELECTOR_ERROR_CODES)[number];

/** Where and why a selector could not be read. */
export interface SelectorErrorFacts {
  /** Index into the text, in UTF-16 code units, of the first character that does not fit. */
  readonly position: number;
  /** What could have stood there: `an operator after label "a"`. */
  readonly expected: string;
  /** What stands there: the character or word in quotes, or `the end`. */
  readonly found: string;
}

/** A selector that cannot be read, or cannot be written. */
export class SelectorError extends CodedError {
  override readonly name: string = "SelectorError";
  declare readonly code: SelectorErrorCode;
  /** As in {@link SelectorErrorFacts}, as is `expected`. */
  readonly position: number;
  readonly expected: string;

  constructor(code: SelectorErrorCode, message: string, facts: SelectorErrorFacts) {
    super(message, { code, op: "Parse selector", data: { ...facts } });
    this.position = facts.position;
    this.expected = facts.expected;
  }
}

const SHOWN_CHARS = 24;

/** What stands at `position`, for a message: at most {@link SHOWN_CHARS} characters of it. */
function foundAt(text: string, position: number): string {
  if (position >= text.length) return "the end";
  const word = /^(?:[A-Za-z0-9_./-]+|[\s\S])/u.exec(text.slice(position, position + SHOWN_CHARS + 1))?.[0] ?? "";
  return word.length > SHOWN_CHARS ? `"${word.slice(0, SHOWN_CHARS)}..."` : `"${word}"`;
}

/** The SELECTOR_SYNTAX error for `text` at `position`. */
export function syntaxError(text: string, position: number, expected: string): SelectorError {
  const found = foundAt(text, position);
  const message = `Cannot parse selector at position ${position}: expected ${expected}, found ${found}`;
  return new SelectorError("SELECTOR_SYNTAX", message, { position, expected, found });
}
