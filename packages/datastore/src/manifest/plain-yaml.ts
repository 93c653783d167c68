/** A document of plain YAML, and the line (from 1) of its first key. */
export interface PlainDocument {
  readonly value: Readonly<Record<string, unknown>>;
  readonly line: number;
  /** From 1, as the YAML reader counts documents. */
  readonly number: number;
}

interface Line {
  readonly indent: number;
  readonly text: string;
  readonly number: number;
}

/** Printable ASCII and line feeds: no tabs, no carriage returns. */
const PLAIN_TEXT = /^[\n\x20-\x7e]*$/;
const KEY = /^([A-Za-z][A-Za-z0-9_./-]{0,127}):(?= |$)/;
const NOTHING_MORE = /^(?: +#.*)?$/;
const INTEGER = /^(?:0|-?[1-9][0-9]{0,14})$/;
const ADDRESS = /^[0-9]+\.[0-9]+\.[0-9]/;
/** What a number of YAML 1.2's core schema may be made of. */
const NUMBER_LIKE = /^[-+.0-9a-fox_]*$/i;
const KEYWORD = /^(?:null|true|false)$/i;
const MAX_DEPTH = 64;

/** Thrown for what is not plain; never leaves this file. */
const NOT_PLAIN = new Error("Not plain YAML");

function notPlain(): never {
  throw NOT_PLAIN;
}

/**
 * Reads YAML as most people write manifests: block mappings and lists, and on one line scalars, quoted or not, and
 * brackets. Undefined for anything else, right or wrong, which is for the whole YAML reader to say. It is some ten times as fast as that, which
 * a directory of ten thousand files needs, and what it gives is what that gives.
 */
export function readPlainYaml(text: string): readonly PlainDocument[] | undefined {
  if (!PLAIN_TEXT.test(text)) return undefined;
  try {
    const documents = documentsOf(text);
    return documents.flatMap((lines, i) => (lines.length === 0 ? [] : [readDocument(lines, i + 1)]));
  } catch (error) {
    if (error === NOT_PLAIN) return undefined;
    throw error;
  }
}

/** The lines with something on them, by document. What stands before the first marker belongs to the first document. */
function documentsOf(text: string): Line[][] {
  let lines: Line[] = [];
  const documents = [lines];
  let hasMarker = false;
  let number = 0;
  for (const whole of text.split("\n")) {
    number++;
    const line = whole.trimEnd();
    const content = line.trimStart();
    if (content === "" || content.startsWith("#")) continue;
    if (line === "---") {
      if (hasMarker || lines.length > 0) documents.push((lines = []));
      hasMarker = true;
    } else if (line.startsWith("---") || line.startsWith("...") || line.startsWith("%")) notPlain();
    else lines.push({ indent: line.length - content.length, text: content, number });
  }
  return documents;
}

function readDocument(lines: Line[], number: number): PlainDocument {
  const [first] = lines;
  if (first?.indent !== 0) return notPlain();
  const reader = new BlockReader(lines);
  const value = reader.mapping(0, 0);
  if (!reader.isAtEnd) notPlain();
  return { value, line: first.number, number };
}

/**
 * Invariant: `#at` is the first line that is not taken. A line of a list whose dash is taken has become what follows it,
 * at the place where that stands.
 */
class BlockReader {
  readonly #lines: Line[];
  #at = 0;

  constructor(lines: Line[]) {
    this.#lines = lines;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#lines.length;
  }

  /** The keys at exactly this indentation, up to a line that stands further left. */
  mapping(indent: number, depth: number): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    for (let line = this.#lines[this.#at]; line !== undefined && line.indent >= indent; line = this.#lines[this.#at]) {
      const key = KEY.exec(line.text)?.[1];
      if (line.indent > indent || key === undefined || KEYWORD.test(key) || Object.hasOwn(map, key)) return notPlain();
      this.#at++;
      const rest = line.text.slice(key.length + 1).trimStart();
      map[key] = rest === "" || rest.startsWith("#") ? this.#nested(indent, depth, true) : this.#scalar(rest, indent);
    }
    return map;
  }

  /** The entries whose dashes stand at exactly this indentation. */
  #list(indent: number, depth: number): unknown[] {
    const list: unknown[] = [];
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      // What follows a list that stands where its key stands.
      if (!isEntry(line.text)) break;
      const rest = line.text.slice(1).trimStart();
      if (rest === "" || rest.startsWith("#")) {
        this.#at++;
        list.push(this.#nested(indent, depth, false));
      } else if (KEY.test(rest)) {
        const inner = indent + line.text.length - rest.length;
        this.#lines[this.#at] = { ...line, indent: inner, text: rest };
        list.push(this.mapping(inner, deeper(depth)));
      } else {
        this.#at++;
        list.push(this.#scalar(rest, indent));
      }
    }
    return list;
  }

  /** What stands below a key or a dash that has nothing beside it. */
  #nested(indent: number, depth: number, isOfKey: boolean): unknown {
    const line = this.#lines[this.#at];
    if (line === undefined || line.indent < indent) return null;
    if (line.indent === indent) return isOfKey && isEntry(line.text) ? this.#list(indent, deeper(depth)) : null;
    const value = isEntry(line.text)
      ? this.#list(line.indent, deeper(depth))
      : this.mapping(line.indent, deeper(depth));
    this.#endsAt(indent);
    return value;
  }

  #scalar(text: string, indent: number): unknown {
    // It would go on there.
    this.#endsAt(indent);
    if (!/^['"[{]/.test(text)) return readBare(withoutComment(text));
    const flow = new FlowReader(text);
    const value = flow.value(0);
    return NOTHING_MORE.test(flow.rest) ? value : notPlain();
  }

  #endsAt(indent: number): void {
    if ((this.#lines[this.#at]?.indent ?? 0) > indent) notPlain();
  }
}

function deeper(depth: number): number {
  return depth < MAX_DEPTH ? depth + 1 : notPlain();
}

function isEntry(text: string): boolean {
  return text === "-" || text.startsWith("- ");
}

/** Quoted scalars without escapes, and lists and maps in brackets: `[80, "a b"]`, `{ app: web }`. */
class FlowReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get rest(): string {
    return this.#text.slice(this.#at);
  }

  value(depth: number): unknown {
    if (this.#take(/\[ */y) !== undefined) return this.#list(deeper(depth));
    if (this.#take(/\{ */y) !== undefined) return this.#map(deeper(depth));
    const quoted = this.#take(/'[^']*'|"[^"\\]*"/y);
    return quoted === undefined ? readBare(this.#take(/[^"#,:[\]{}]+/y)?.trimEnd() ?? "") : quoted.slice(1, -1);
  }

  #list(depth: number): unknown[] {
    const list: unknown[] = [];
    if (this.#take(/\]/y) !== undefined) return list;
    do list.push(this.value(depth));
    while (this.#goesOn("]"));
    return list;
  }

  #map(depth: number): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    if (this.#take(/\}/y) !== undefined) return map;
    do {
      const key = this.#take(/[A-Za-z][A-Za-z0-9_./-]{0,127}(?=: )/y);
      if (key === undefined || KEYWORD.test(key) || Object.hasOwn(map, key)) return notPlain();
      this.#take(/: +/y);
      map[key] = this.value(depth);
    } while (this.#goesOn("}"));
    return map;
  }

  #goesOn(end: string): boolean {
    const found = this.#take(/ *(?:, *|[\]}])/y)?.trim();
    return found === "," || (found === end ? false : notPlain());
  }

  #take(sticky: RegExp): string | undefined {
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }
}

function withoutComment(text: string): string {
  const at = text.indexOf(" #");
  return at < 0 ? text : text.slice(0, at).trimEnd();
}

function readBare(text: string): unknown {
  if (/^[A-Za-z/(]/.test(text)) {
    if (text.includes(": ") || text.endsWith(":")) return notPlain();
    if (!KEYWORD.test(text)) return text;
    return text === "true" ? true : text === "false" ? false : text === "null" ? null : notPlain();
  }
  if (INTEGER.test(text)) return Number(text);
  if (!/^[0-9]/.test(text) || text.includes(": ") || text.endsWith(":")) return notPlain();
  return ADDRESS.test(text) || !NUMBER_LIKE.test(text) ? text : notPlain();
}
