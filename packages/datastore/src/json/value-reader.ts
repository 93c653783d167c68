import { beginNumber, mayEnd, nextPlace, type NumberPlace } from "./number-step.ts";
import { isEscaped, endOfPlainName, endOfPlainScalar, endOfPlainString, isPlain, wordOf } from "./plain-token.ts";

// Constants of another module are looked up at each use: a quarter more time.
const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const LETTER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

// What comes next. They are numbers for speed.
const VALUE = 0;
const FIRST_ENTRY = 1;
const FIRST_NAME = 2;
const NAME = 3;
const AFTER_NAME = 4;
const AFTER_VALUE = 5;
// Within a string, a number, or true, false and null.
const IN_STRING = 6;
const AFTER_BACKSLASH = 7;
const IN_HEX = 8;
const IN_NUMBER = 9;
const IN_WORD = 10;

/** Deeper nesting counts as a fault. An API server takes 10,000 levels, `JSON.parse` as many as there is memory. */
const MAX_DEPTH = 1_000_000;

/**
 * Finds the end of a JSON value (RFC 8259) that comes in pieces, and makes nothing of it. It takes exactly what
 * `JSON.parse` takes.
 *
 * Invariant: up to `#depth`, `#levels` are the open containers from place 1 on, outermost first, 1 for a list;
 * `#isList` is the innermost one.
 */
export class ValueReader {
  #state = VALUE;
  #levels = new Uint8Array(64);
  #depth = 0;
  #isList = false;
  #isName = false;
  /** Where it stands in a number. */
  #place: NumberPlace = "sign";
  /** How far it is in a word or four hex digits. */
  #progress = 0;
  #word: Uint8Array | undefined;
  #hasFault = false;
  readonly #isLine: boolean;

  /** @param isLine A newline is a fault. */
  constructor(isLine: boolean) {
    this.#isLine = isLine;
  }

  /** A new value begins. */
  begin(): void {
    this.#state = VALUE;
    this.#depth = 0;
    this.#isList = false;
    this.#hasFault = false;
  }

  /** The value was read to its end. */
  get isDone(): boolean {
    return this.#depth === 0 && this.#state === AFTER_VALUE;
  }

  /** The value is no JSON. */
  get hasFault(): boolean {
    return this.#hasFault;
  }

  /**
   * Reads on from `from`. Returns where the value ends, the place of what is at fault, or the length of the piece when
   * the value goes on in the next one.
   */
  read(bytes: Uint8Array, from: number): number {
    let i = from;
    while (i < bytes.length) {
      if (this.#state === VALUE || this.#state === AFTER_VALUE) i = this.#plain(bytes, i);
      if (i < bytes.length && !this.isDone) i = this.#any(bytes, i);
      if (this.isDone || this.#hasFault) break;
    }
    return i;
  }

  /**
   * Reads the values, names and brackets that are whole and as nearly all of them are: no spaces, no escapes but of one
   * character, whole numbers. Goes as far as that; what comes then is for `#any`. (Nearly all bytes go through here.
   * Reading it all by `#any` took more than twice as long.)
   */
  #plain(bytes: Uint8Array, from: number): number {
    const { length } = bytes;
    const levels = this.#levels;
    const lastLevel = levels.length - 1;
    let state = this.#state;
    let depth = this.#depth;
    let isList = this.#isList;
    let i = from;
    // No byte beyond the end is asked for: that would make every access slow.
    while (i < length) {
      if (state === VALUE) {
        const byte = bytes[i] as number;
        if (byte === QUOTE) {
          const end = endOfPlainString(bytes, i + 1);
          if (end < 0) break;
          i = end;
        } else if (byte === OPEN_OBJECT) {
          if (depth === lastLevel) break;
          levels[++depth] = 0;
          isList = false;
          i++;
          if (i < length && bytes[i] === CLOSE_OBJECT) {
            isList = levels[--depth] === 1;
            i++;
          } else {
            const end = endOfPlainName(bytes, i);
            if (end < 0) {
              state = FIRST_NAME;
              break;
            }
            i = end;
            continue;
          }
        } else if (byte === OPEN_LIST) {
          if (depth === lastLevel) break;
          levels[++depth] = 1;
          isList = true;
          i++;
          if (i === length || (bytes[i] as number) <= SPACE) {
            state = FIRST_ENTRY;
            break;
          }
          if (bytes[i] !== CLOSE_LIST) continue;
          isList = levels[--depth] === 1;
          i++;
        } else {
          const end = endOfPlainScalar(bytes, i);
          if (end < 0) break;
          i = end;
        }
        state = AFTER_VALUE;
        if (depth === 0 || i === length) break;
      }
      const byte = bytes[i];
      if (byte === COMMA) {
        i++;
        state = VALUE;
        if (isList) continue;
        const end = endOfPlainName(bytes, i);
        if (end < 0) {
          state = NAME;
          break;
        }
        i = end;
      } else if (byte === (isList ? CLOSE_LIST : CLOSE_OBJECT)) {
        i++;
        isList = levels[--depth] === 1;
        if (depth === 0) break;
      } else break;
    }
    this.#state = state;
    this.#depth = depth;
    this.#isList = isList;
    return i;
  }

  /** Reads a token, or what of it is there. */
  #any(bytes: Uint8Array, from: number): number {
    const { length } = bytes;
    let state = this.#state;
    let i = from;
    while (i < length) {
      if (state === IN_STRING) {
        while (i < length && isPlain(bytes[i] as number)) i++;
        if (i === length) break;
        const byte = bytes[i];
        if (byte === QUOTE) state = this.#isName ? AFTER_NAME : AFTER_VALUE;
        else if (byte === BACKSLASH) state = AFTER_BACKSLASH;
        else return this.#fault(i);
        i++;
        if (state === AFTER_VALUE) break;
        continue;
      }
      if (state > IN_STRING) {
        i = this.#token(state, bytes, i);
        state = this.#state;
        if (this.#hasFault || state === AFTER_VALUE) return i;
        continue;
      }
      const byte = bytes[i] as number;
      const isValue = state === VALUE || state === FIRST_ENTRY;
      switch (byte) {
        case SPACE:
        case TAB:
        case RETURN:
          break;
        case NEWLINE:
          if (this.#isLine) return this.#fault(i);
          break;
        case QUOTE:
          if (state === AFTER_NAME || state === AFTER_VALUE) return this.#fault(i);
          this.#isName = !isValue;
          state = IN_STRING;
          break;
        case COLON:
          if (state !== AFTER_NAME) return this.#fault(i);
          state = VALUE;
          break;
        case COMMA:
          if (state !== AFTER_VALUE) return this.#fault(i);
          state = this.#isList ? VALUE : NAME;
          break;
        case OPEN_OBJECT:
        case OPEN_LIST:
          if (!isValue || this.#depth === MAX_DEPTH) return this.#fault(i);
          this.#open(byte === OPEN_LIST);
          state = this.#isList ? FIRST_ENTRY : FIRST_NAME;
          break;
        case CLOSE_OBJECT:
        case CLOSE_LIST:
          if (!this.#mayClose(state, byte === CLOSE_LIST)) return this.#fault(i);
          this.#isList = this.#levels[--this.#depth] === 1;
          state = AFTER_VALUE;
          break;
        default:
          if (!isValue || !this.#beginToken(byte)) return this.#fault(i);
          state = this.#state;
      }
      i++;
      if (state === VALUE || state === AFTER_VALUE) break;
    }
    this.#state = state;
    return i;
  }

  #open(isList: boolean): void {
    if (++this.#depth === this.#levels.length) {
      const levels = new Uint8Array(this.#depth * 2);
      levels.set(this.#levels);
      this.#levels = levels;
    }
    this.#levels[this.#depth] = isList ? 1 : 0;
    this.#isList = isList;
  }

  #mayClose(state: number, isList: boolean): boolean {
    const isOpen = this.#depth > 0 && this.#isList === isList;
    return isOpen && (state === AFTER_VALUE || state === (isList ? FIRST_ENTRY : FIRST_NAME));
  }

  /** A number, true, false or null. */
  #beginToken(byte: number): boolean {
    const place = beginNumber(byte);
    if (place !== undefined) {
      this.#place = place;
      this.#state = IN_NUMBER;
      return true;
    }
    this.#word = wordOf(byte);
    this.#progress = 1;
    this.#state = IN_WORD;
    return this.#word !== undefined;
  }

  #token(state: number, bytes: Uint8Array, from: number): number {
    const byte = bytes[from] as number;
    switch (state) {
      case AFTER_BACKSLASH:
        if (byte !== LETTER_U && !isEscaped(byte)) return this.#fault(from);
        this.#state = byte === LETTER_U ? IN_HEX : IN_STRING;
        this.#progress = 0;
        return from + 1;
      case IN_HEX:
        if (!isHexDigit(byte)) return this.#fault(from);
        this.#state = ++this.#progress === 4 ? IN_STRING : IN_HEX;
        return from + 1;
      case IN_WORD:
        if (byte !== this.#word?.[this.#progress]) return this.#fault(from);
        this.#state = ++this.#progress === this.#word.length ? AFTER_VALUE : IN_WORD;
        return from + 1;
      default: {
        const next = nextPlace(this.#place, byte);
        if (next === undefined) {
          if (!mayEnd(this.#place)) return this.#fault(from);
          this.#state = AFTER_VALUE;
          return from;
        }
        this.#place = next;
        return from + 1;
      }
    }
  }

  #fault(at: number): number {
    this.#hasFault = true;
    return at;
  }
}

function isHexDigit(byte: number): boolean {
  return /[0-9a-f]/i.test(String.fromCharCode(byte));
}
