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
/**
 * A page dies young as long as its text is no large object to V8, which begins at 128 KiB. (Measured on pods, read and
 * converted: 16 to 64 KiB take 7 % less CPU than 128 KiB to 1 MiB. Small pages go through many hands.)
 */
const MAX_PAGE_BYTES = 64 * 1024;
const MIN_ROOM_BYTES: number = 2 * MAX_PAGE_BYTES;
const NO_PAGE: Buffer = Buffer.alloc(0);
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
 * Invariant: `#page` holds the items that are not given out yet; `#rest` all that is not within the brackets of `items`.
 * Pieces of a page are copied together at once: held one by one, they would keep whole chunks of the answer.
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
  /** `[`, the items of the page, and room. */
  #page: Buffer = NO_PAGE;
  #pageBytes = 0;
  #items = 0;
  /** A page has been given out. */
  #hasGivenItems = false;
  #hasList = false;
  /** Bytes of `#page` up to the end of its last whole item. */
  #wholeBytes = 0;
  readonly #op: string;

  constructor(op: string) {
    this.#op = op;
  }

  /** Takes more of the answer; gives the pages that are full. */
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
          if (this.#isInItems && this.#hasList) throw this.#malformed("there are two lists in the answer");
          this.#hasList ||= this.#isInItems;
        }
      } else if (bracket === CLOSE) {
        depth--;
        if (!this.#isInItems || depth > 2) continue;
        if (depth === 2) {
          this.#items++;
          this.#wholeBytes = this.#pageBytes + i - start;
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

  /** All of `#page`: whole items, unless they are followed by a fault. */
  #takePage(): readonly unknown[] {
    const end = this.#pageBytes + 1;
    if (end === 1) return [];
    const page = this.#page;
    page[0] = OPEN_LIST;
    page[end] = CLOSE_LIST;
    if (this.#hasGivenItems) {
      // Between it and the page before it. Without items after it, it is at fault.
      let comma = 1;
      while ((page[comma] as number) <= SPACE) comma++;
      if (page[comma] === COMMA && this.#items > 0) page[comma] = SPACE;
      else if (comma < end) throw this.#malformed("the answer is no JSON");
    }
    const text = page.toString("utf8", 0, end + 1);
    this.#pageBytes = 0;
    this.#wholeBytes = 0;
    this.#hasGivenItems ||= this.#items > 0;
    this.#items = 0;
    return this.#parse(text) as readonly unknown[];
  }

  #keepItem(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const end = this.#pageBytes + bytes.length;
    if (end - this.#wholeBytes > MAX_ITEM_BYTES) throw this.#malformed(`longer than ${MAX_ITEM_BYTES} bytes`);
    // And the two brackets.
    if (this.#page.length < end + 2) {
      const room = Buffer.allocUnsafeSlow(Math.max(MIN_ROOM_BYTES, 2 * end));
      this.#page.copy(room, 0, 0, this.#pageBytes + 1);
      this.#page = room;
    }
    bytes.copy(this.#page, this.#pageBytes + 1);
    this.#pageBytes = end;
  }

  #keepRest(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#rest.push(Buffer.from(bytes));
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
