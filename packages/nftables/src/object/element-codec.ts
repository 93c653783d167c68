import {
  type AttributeReader,
  type MessageReader,
  type MessageWriter,
  NFGEN_BYTES,
  NLA_F_NESTED,
} from "@bulrush/netlink";
import type { Boundary } from "../element/interval.ts";
import type { Verdict } from "../statement.ts";
import { NFTA_DATA_VALUE, readData, writeValue, writeVerdict } from "../wire/data-value.ts";

/** enum nft_set_elem_list_attributes, nft_set_elem_attributes, nft_set_elem_flags */
const NFTA_LIST = { TABLE: 1, SET: 2, ELEMENTS: 3, SET_ID: 4 } as const;
const NFTA_ELEM = { KEY: 1, DATA: 2, FLAGS: 3 } as const;
const NFTA_LIST_ELEM = 1;
const INTERVAL_END = 1;
const CATCHALL = 2;

/** An element as the kernel keeps it. `verdict` in maps only. */
export interface KernelElement extends Boundary {
  readonly verdict?: Verdict;
  /** Stands for every key that is not in the set; foreign. The key is empty. */
  readonly catchall?: boolean;
}

/** Which set: the head of every element message. `id` for one that is made in the same batch. */
export function writeElementsHead(writer: MessageWriter, table: string, set: string, id?: number): void {
  writer.attrString(NFTA_LIST.TABLE, table);
  writer.attrString(NFTA_LIST.SET, set);
  if (id !== undefined) writer.attrU32be(NFTA_LIST.SET_ID, id);
}

/**
 * Writes elements from `start` on, as many as one attribute can hold, and returns the index of the first that did not
 * fit. The length field of an attribute has 16 bits.
 */
export function writeElements(writer: MessageWriter, elements: readonly KernelElement[], start: number): number {
  const list = writer.nest(NFTA_LIST.ELEMENTS);
  const limit = writer.length + MAX_LIST_BYTES;
  let index = start;
  for (; index < elements.length && writer.length < limit; index++) {
    const element = elements[index];
    if (element !== undefined) writeElement(writer, element);
  }
  writer.endNest(list);
  return index;
}

/**
 * The same for plain IPv4 addresses, which make up most sets: without an object for each. `words` are the addresses as
 * numbers.
 */
export function writeIPv4Elements(writer: MessageWriter, words: Uint32Array, start: number): number {
  const list = writer.nest(NFTA_LIST.ELEMENTS);
  const count = Math.min(words.length - start, IPV4_LIST_ELEMENTS);
  for (let i = 0; i < count; i++) ipv4List.setUint32(i * IPV4_ELEMENT_BYTES + 12, words[start + i] ?? 0);
  writer.raw(ipv4ListBytes.subarray(0, count * IPV4_ELEMENT_BYTES));
  writer.endNest(list);
  return start + count;
}

/** ELEM {KEY {VALUE}}: the heads of three attributes, each inside the one before, and four bytes. */
const IPV4_ELEMENT_BYTES = 16;
const IPV4_ELEMENT_HEADS = [
  ((NLA_F_NESTED | NFTA_LIST_ELEM) << 16) | 16,
  ((NLA_F_NESTED | NFTA_ELEM.KEY) << 16) | 12,
  (NFTA_DATA_VALUE << 16) | 8,
] as const;

/** Leaves room for one more element of any size: a key of 64 bytes, a chain name of 255. */
const MAX_LIST_BYTES = 0xffff - 512;

const IPV4_LIST_ELEMENTS = Math.floor(MAX_LIST_BYTES / IPV4_ELEMENT_BYTES);

/** A whole list, of which only the addresses are ever written again. */
const ipv4List: DataView = new DataView(new ArrayBuffer(IPV4_LIST_ELEMENTS * IPV4_ELEMENT_BYTES));
const ipv4ListBytes: Uint8Array = new Uint8Array(ipv4List.buffer);
for (let i = 0; i < IPV4_LIST_ELEMENTS; i++)
  for (const [word, head] of IPV4_ELEMENT_HEADS.entries())
    ipv4List.setUint32(i * IPV4_ELEMENT_BYTES + word * 4, head, true);

function writeElement(writer: MessageWriter, element: KernelElement): void {
  const nest = writer.nest(NFTA_LIST_ELEM);
  if (element.catchall !== true) writeValue(writer, NFTA_ELEM.KEY, element.key);
  if (element.verdict !== undefined) writeVerdict(writer, NFTA_ELEM.DATA, element.verdict);
  const flags = (element.end ? INTERVAL_END : 0) | (element.catchall === true ? CATCHALL : 0);
  if (flags !== 0) writer.attrU32be(NFTA_ELEM.FLAGS, flags);
  writer.endNest(nest);
}

/** Appends the elements of one message of a dump. */
export function readElements(message: MessageReader, into: KernelElement[]): void {
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next()) {
    if (attributes.type !== NFTA_LIST.ELEMENTS) continue;
    const list = attributes.nested();
    while (list.next()) if (list.type === NFTA_LIST_ELEM) into.push(readElement(list.nested()));
  }
}

/**
 * The same for plain IPv4 addresses: appends their texts. False, with some of them appended or none, when there is more
 * to an element than its address.
 */
export function readIPv4Elements(message: MessageReader, into: Set<string>): boolean {
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next()) {
    if (attributes.type !== NFTA_LIST.ELEMENTS) continue;
    if (attributes.length % IPV4_ELEMENT_BYTES !== 0) return false;
    for (let at = 0; at < attributes.length; at += IPV4_ELEMENT_BYTES) {
      for (let i = 0; i < IPV4_ELEMENT_HEADS.length; i++)
        if ((attributes.u32At(at + i * 4) & ~NESTED_BIT) !== ((IPV4_ELEMENT_HEADS[i] ?? 0) & ~NESTED_BIT)) return false;
      into.add(ipv4Text(attributes.u32At(at + 12)));
    }
  }
  return true;
}

/** The kernel leaves the flag out. */
const NESTED_BIT = NLA_F_NESTED << 16;

const OCTETS: readonly string[] = Array.from({ length: 256 }, (_, octet) => String(octet));

/** Of an address in network order, read as a little-endian word. */
function ipv4Text(word: number): string {
  return `${OCTETS[word & 255]}.${OCTETS[(word >>> 8) & 255]}.${OCTETS[(word >>> 16) & 255]}.${OCTETS[word >>> 24]}`;
}

const NO_KEY = new Uint8Array(0);

function readElement(attributes: AttributeReader): KernelElement {
  let key = NO_KEY;
  let flags = 0;
  let verdict: Verdict | undefined;
  while (attributes.next()) {
    if (attributes.type === NFTA_ELEM.KEY) {
      const data = readData(attributes);
      if (data instanceof Uint8Array) key = new Uint8Array(data);
    } else if (attributes.type === NFTA_ELEM.DATA) {
      const data = readData(attributes);
      if (data !== undefined && !(data instanceof Uint8Array)) verdict = data;
    } else if (attributes.type === NFTA_ELEM.FLAGS) flags = attributes.u32be();
  }
  return {
    key,
    end: (flags & INTERVAL_END) !== 0,
    ...(verdict === undefined ? {} : { verdict }),
    ...((flags & CATCHALL) === 0 ? {} : { catchall: true }),
  };
}
