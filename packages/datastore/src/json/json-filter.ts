import { endOfBareName, endOfPlainScalar, endOfPlainString } from "./plain-token.ts";
import { ALL, NOTHING, type ObjectShape, type Shape } from "./shape.ts";
import { ValueReader } from "./value-reader.ts";

// Constants of another module are looked up at each use: a quarter more time.
const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** `!`, which stands nowhere in JSON but in strings. */
const NO_JSON = 0x21;

/** Of the name of a field. A longer one is no name of ours: from there on all is let through. */
const MAX_NAME_BYTES = 65_536;
/** Lists in lists have the shape of their entries too; further in, all is kept. */
const MAX_FRAMES = 64;

/** An open object or list of which some parts are kept. */
interface Frame {
  readonly shape: ObjectShape;
  readonly isList: boolean;
  /** No field of the object was kept so far. */
  isEmpty: boolean;
}

export interface JsonFilterOptions {
  /** Of each value in the stream. */
  readonly shape: Shape;
  /** Each line is a value: one that is not whole at the end of its line is at fault. */
  readonly isLines: boolean;
}

/** What comes next in the innermost frame; at the top, only a value. */
type Expected = "first" | "name" | "value" | "end";

/**
 * Takes out of a stream of JSON what is of no use, before anything else looks at it.
 *
 *     {"metadata":{"name":"web","managedFields":[{...}]},"spec":{"volumes":[...],"nodeName":"n1"}}
 *     {"metadata":{"name":"web"},"spec":{"nodeName":"n1"}}
 *
 * The stream is any number of values. What comes out is JSON exactly where what came in is: all of it is checked, and a
 * fault comes out as one, with everything after it. Space between values stays, so that lines stay lines; within the
 * objects that are filtered it goes.
 *
 * Invariant: `#frames` are the open containers of which some parts are kept, outermost first; `#next` is the shape of
 * the value after a name that was read. While `#isInValue` the stream stands in a value that is taken or kept as a whole.
 */
export class JsonFilter {
  readonly #shape: Shape;
  readonly #frames: Frame[] = [];
  readonly #isLines: boolean;
  readonly #value: ValueReader;
  #expected: Expected = "value";
  #next: Shape | undefined;
  /** The beginning of a name, waiting for its end. */
  #rest: Buffer | undefined;
  #isInValue = false;
  /** What was just read is of use. */
  #isKept = false;
  /** Nothing is taken out any more. */
  #isOpen = false;
  /** What comes next is at fault, in a value that is not kept. */
  #isAtFault = false;

  constructor({ shape, isLines }: JsonFilterOptions) {
    this.#shape = shape;
    this.#isLines = isLines;
    this.#value = new ValueReader(isLines);
  }

  /** What is of use of the next piece, perhaps nothing. Changes the piece, and gives out a part of it. */
  push(piece: Buffer): Buffer {
    const bytes = this.#rest === undefined ? piece : Buffer.concat([this.#rest, piece]);
    this.#rest = undefined;
    const { length } = bytes;
    // What is kept of the bytes before `kept` stands before `to`; those from `kept` to `from` are all kept.
    let to = 0;
    let kept = 0;
    let from = 0;
    while (from < length && this.#rest === undefined) {
      const start = from;
      if (this.#isOpen) {
        this.#isKept = true;
        from = length;
      } else if (this.#isAtFault) from = this.#fault(bytes, start);
      else if (this.#isInValue) from = this.#inValue(bytes, start);
      else from = this.#between(bytes, start);
      if (this.#isKept) continue;
      if (to !== kept) bytes.copyWithin(to, kept, start);
      to += start - kept;
      kept = from;
    }
    if (to === 0) return bytes.subarray(kept, from);
    bytes.copyWithin(to, kept, from);
    return bytes.subarray(0, to + from - kept);
  }

  /** A value that is taken or kept as a whole. */
  #inValue(bytes: Buffer, start: number): number {
    const end = this.#value.read(bytes, start);
    if (this.#value.hasFault) {
      // What is kept is for the parser to see.
      this.#isOpen = this.#isKept;
      this.#isAtFault = !this.#isKept;
    } else if (this.#value.isDone) this.#isInValue = false;
    return end;
  }

  /** Reads what stands between values, or begins one. Says by `#isKept` whether it is of use; returns its end. */
  #between(bytes: Buffer, start: number): number {
    const byte = bytes[start] as number;
    const frame = this.#frames.at(-1);
    if (this.#isSpace(byte) || (frame === undefined && byte === NEWLINE)) {
      this.#isKept = frame === undefined;
      return start + 1;
    }
    if (frame === undefined) return this.#begin(bytes, start, this.#shape);
    const isEnd = byte === (frame.isList ? CLOSE_LIST : CLOSE_OBJECT);
    if (isEnd && (this.#expected === "first" || this.#expected === "end")) {
      this.#frames.pop();
      this.#expected = "end";
      this.#isKept = true;
      return start + 1;
    }
    switch (this.#expected) {
      case "first":
        return frame.isList ? this.#begin(bytes, start, frame.shape) : this.#name(bytes, start, start, frame);
      case "name":
        return this.#name(bytes, start, start, frame);
      case "value":
        return this.#begin(bytes, start, this.#next ?? frame.shape);
      case "end":
        return byte === COMMA ? this.#comma(bytes, start, frame) : this.#fault(bytes, start);
    }
  }

  #begin(bytes: Buffer, start: number, shape: Shape): number {
    const byte = bytes[start];
    this.#next = undefined;
    this.#expected = "end";
    this.#isKept = shape !== NOTHING;
    const isContainer = byte === OPEN_OBJECT || byte === OPEN_LIST;
    if (isContainer && shape !== ALL && shape !== NOTHING && this.#frames.length < MAX_FRAMES) {
      this.#frames.push({ shape, isList: byte === OPEN_LIST, isEmpty: true });
      this.#expected = "first";
      return start + 1;
    }
    if (!isContainer) {
      const end = byte === QUOTE ? endOfPlainString(bytes, start + 1) : endOfPlainScalar(bytes, start);
      if (end >= 0) return end;
    }
    this.#isInValue = true;
    this.#value.begin();
    return this.#inValue(bytes, start);
  }

  /** In an object the comma goes where the field before it or after it goes. */
  #comma(bytes: Buffer, start: number, frame: Frame): number {
    if (!frame.isList && !frame.isEmpty) return this.#name(bytes, start, start + 1, frame);
    this.#isKept = frame.isList;
    this.#expected = frame.isList ? "value" : "name";
    return start + 1;
  }

  /** Reads a field up to its value, and on from there where nothing stands in the way. Its name is at `from`. */
  #name(bytes: Buffer, start: number, from: number, frame: Frame): number {
    const { length } = bytes;
    let name = from;
    let value = endOfBareName(bytes, name);
    let shape: Shape;
    if (value >= 0) shape = fieldOf(frame.shape, bytes, name + 1, value - 2);
    else {
      name = this.#skipSpace(bytes, from);
      this.#value.begin();
      const nameEnd = name < length && bytes[name] === QUOTE ? this.#value.read(bytes, name) : name;
      const colon = this.#skipSpace(bytes, nameEnd);
      if (this.#value.hasFault) return this.#fault(bytes, start);
      if (colon === length) return this.#wait(bytes, start);
      if (!this.#value.isDone || bytes[colon] !== COLON) return this.#fault(bytes, start);
      value = colon + 1;
      const decoded = Buffer.from(JSON.parse(bytes.toString("utf8", name, nameEnd)) as string);
      shape = fieldOf(frame.shape, decoded, 0, decoded.length);
    }
    this.#isKept = shape !== NOTHING;
    if (this.#isKept) frame.isEmpty = false;
    if (value < length && !this.#isSpace(bytes[value] as number)) return this.#begin(bytes, value, shape);
    this.#next = shape;
    this.#expected = "value";
    return value;
  }

  /** Keeps what there is of a name until the next piece comes. */
  #wait(bytes: Buffer, start: number): number {
    this.#isOpen = bytes.length - start > MAX_NAME_BYTES;
    this.#isKept = this.#isOpen;
    if (!this.#isOpen) this.#rest = bytes.subarray(start);
    return bytes.length;
  }

  /** Everything from here on is let through, as something that is no JSON. */
  #fault(bytes: Buffer, at: number): number {
    // A line that ends too early is at fault as it is.
    if (!this.#isLines || bytes[at] !== NEWLINE) bytes[at] = NO_JSON;
    this.#isOpen = true;
    this.#isKept = true;
    return at + 1;
  }

  #skipSpace(bytes: Buffer, from: number): number {
    let i = from;
    while (i < bytes.length && this.#isSpace(bytes[i] as number)) i++;
    return i;
  }

  #isSpace(byte: number): boolean {
    return byte === SPACE || byte === RETURN || byte === TAB || (byte === NEWLINE && !this.#isLines);
  }
}

function fieldOf({ fields, rest }: ObjectShape, bytes: Buffer, start: number, end: number): Shape {
  for (const { name, shape } of fields) if (isSame(name, bytes, start, end)) return shape;
  return rest;
}

function isSame(name: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name[i] !== bytes[start + i]) return false;
  return true;
}
