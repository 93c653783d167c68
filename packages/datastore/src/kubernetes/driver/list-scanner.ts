import { isObject, type JsonObject } from "@bulrush/model";
import { DatastoreError } from "../../errors.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `]`; the braces are the same with this bit set, and nothing else of ASCII is. */
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const BRACE_BIT = 0x20;
const COMMA = 0x2c;
const SPACE = 0x20;
const [OPEN, CLOSE] = [OPEN_LIST | BRACE_BIT, CLOSE_LIST | BRACE_BIT];

const ITEMS = Buffer.from('"items"');

/** Items given out at once, and bytes of them: a page is whatever comes first. */
const MAX_PAGE_ITEMS = 500;
const MAX_PAGE_BYTES = 128 * 1024;
/** Of a single item. The API server's own limit is 3 MiB a request, etcd's 1.5 MiB a value. */
const MAX_ITEM_BYTES = 32 * 1024 * 1024;
/** Of what is beside the items. */
const MAX_REST_BYTES = 1024 * 1024;

/**
 * Takes a list of the API server (`{"kind":"PodList","metadata":{...},"items":[...]}`) apart while it comes in, so
 * that a list of any length takes the memory of a page. It looks for the ends of items only; each page of them is one
 * `JSON.parse`.
 *
 *     { "kind": ..., "items": [ {...} , {...} , {...}  ], "metadata": ... }
 *     └──── the rest ────────┘ └─ a page ─┘ └─ ...    └─── the rest ──────┘
 *
 * Invariant: `#item` holds the bytes since the first item of the page that is not given out yet; `#rest` all that is
 * not within the brackets of `items`.
 */
export class ListScanner {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isInItems = false;
  /** Where the last string of the outermost object began, in `#rest`: the name of the value that follows it. */
  #nameStart = 0;
  #rest: Buffer[] = [];
  #restBytes = 0;
  #item: Buffer[] = [];
  #itemBytes = 0;
  #items = 0;
  /** Bytes of `#item` up to the end of its last whole item. */
  #wholeBytes = 0;
  readonly #op: string;

  constructor(op: string) {
    this.#op = op;
  }

  /** Takes more of the answer; gives the pages that are full. The chunk must not change any more. */
  push(chunk: Buffer): readonly (readonly unknown[])[] {
    const pages: (readonly unknown[])[] = [];
    const { length } = chunk;
    // Every byte of every list goes through this loop: a seventh of what JSON.parse takes.
    let depth = this.#depth;
    let start = 0;
    let i = this.#isInString ? this.#endOfString(chunk, this.#isEscaped ? 1 : 0) : 0;
    while (i < length) {
      const byte = chunk[i++] as number;
      if (byte === QUOTE) {
        if (depth === 1) this.#nameStart = this.#restBytes + i - 1 - start;
        i = this.#endOfString(chunk, i);
        continue;
      }
      if (byte < OPEN_LIST) continue;
      const bracket = byte | BRACE_BIT;
      if (bracket === OPEN) {
        depth++;
        if (depth === 2 && byte === OPEN_LIST) {
          this.#keepRest(chunk.subarray(start, i));
          start = i;
          this.#isInItems = this.#isNamedItems();
        }
      } else if (bracket === CLOSE) {
        depth--;
        if (!this.#isInItems || depth > 2) continue;
        if (depth === 2) {
          this.#items++;
          this.#wholeBytes = this.#itemBytes + i - start;
          if (this.#items < MAX_PAGE_ITEMS && this.#wholeBytes < MAX_PAGE_BYTES) continue;
          this.#keepItem(chunk.subarray(start, i));
          start = i;
        } else {
          this.#keepItem(chunk.subarray(start, i - 1));
          start = i - 1;
          this.#isInItems = false;
        }
        pages.push(this.#takePage());
      }
    }
    this.#depth = depth;
    if (this.#isInItems) this.#keepItem(chunk.subarray(start));
    else this.#keepRest(chunk.subarray(start));
    return pages;
  }

  /** Where what follows a string begins; the end of the chunk if the string goes on. */
  #endOfString(chunk: Buffer, from: number): number {
    const { length } = chunk;
    let i = from;
    while (i < length) {
      const byte = chunk[i++];
      if (byte === QUOTE) {
        this.#isInString = false;
        return i;
      }
      if (byte === BACKSLASH) i++;
    }
    this.#isInString = true;
    this.#isEscaped = i > length;
    return length;
  }

  /** The list without its items. Call after the last chunk; throws DATASTORE_MALFORMED if that was not the end. */
  finish(): JsonObject {
    const value = this.#parse(Buffer.concat(this.#rest).toString("utf8"));
    if (!isObject(value)) throw this.#malformed("the answer is no list");
    return value;
  }

  /** True if the last string of the outermost object is `items`, and then comes the bracket that was just kept. */
  #isNamedItems(): boolean {
    const rest = Buffer.concat(this.#rest);
    this.#rest = [rest];
    return rest.subarray(this.#nameStart, this.#nameStart + ITEMS.length).equals(ITEMS);
  }

  #takePage(): readonly unknown[] {
    const bytes = Buffer.concat([Buffer.from([OPEN_LIST]), ...this.#item], this.#wholeBytes + 2);
    bytes[bytes.length - 1] = CLOSE_LIST;
    // Between it and the page before it.
    const comma = bytes.indexOf(COMMA);
    const first = bytes.indexOf(OPEN_LIST | BRACE_BIT);
    if (comma >= 0 && comma < first) bytes[comma] = SPACE;
    this.#item = [];
    this.#itemBytes = 0;
    this.#wholeBytes = 0;
    this.#items = 0;
    return this.#parse(bytes.toString("utf8")) as readonly unknown[];
  }

  #keepItem(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#item.push(bytes);
    this.#itemBytes += bytes.length;
    if (this.#itemBytes - this.#wholeBytes > MAX_ITEM_BYTES)
      throw this.#malformed(`longer than ${MAX_ITEM_BYTES} bytes`);
  }

  #keepRest(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#rest.push(bytes);
    this.#restBytes += bytes.length;
    if (this.#restBytes > MAX_REST_BYTES) throw this.#malformed(`more than ${MAX_REST_BYTES} bytes beside its items`);
  }

  #parse(text: string): unknown {
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw this.#malformed("the answer is no JSON", error);
    }
  }

  #malformed(what: string, cause?: unknown): DatastoreError {
    return new DatastoreError(`${this.#op}: ${what}`, { code: "DATASTORE_MALFORMED", op: this.#op, cause });
  }
}
