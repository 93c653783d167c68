import { addressBytes, lastAddress, maskCidr, parseCidr } from "@bulrush/ip";
import { invalid } from "../invalid.ts";
import { compareBytes, predecessor, successor } from "../wire/bytes.ts";
import { encodeKey, type KeyShape } from "./key-shape.ts";

/** An inclusive range of keys. */
export interface Interval {
  readonly first: Uint8Array;
  readonly last: Uint8Array;
}

/** One element as the kernel keeps it: where a range starts, or (`end`) the first key after one. */
export interface Boundary {
  readonly key: Uint8Array;
  readonly end: boolean;
}

/** Reads "10.0.0.0/24", "10.0.0.1", or "10.0.0.1-10.0.0.9". Throws NFT_INVALID. */
export function parseInterval(shape: KeyShape, text: string): Interval {
  const cidr = parseCidr(text);
  if (cidr !== undefined) {
    const first = addressBytes(maskCidr(cidr));
    if (first.length !== shape.bytes) throw invalid("set element", text);
    return { first, last: addressBytes(lastAddress(cidr)) };
  }
  const dash = text.indexOf("-");
  const first = encodeKey(shape, dash < 0 ? text : text.slice(0, dash));
  const last = dash < 0 ? first : encodeKey(shape, text.slice(dash + 1));
  if (compareBytes(first, last) > 0) throw invalid("set element", text);
  return { first, last };
}

/** The canonical text: an address, a CIDR where the range is one, else "first-last". */
export function formatInterval(shape: KeyShape, interval: Interval): string {
  const field = shape.fields[0];
  if (field === undefined) return "";
  const first = field.decode(interval.first);
  const length = prefixLength(interval);
  if (length === interval.first.length * 8) return first;
  const isAddress = field.bytes === 16 || (field.bytes === 4 && field.order === "big");
  return length !== undefined && isAddress ? `${first}/${length}` : `${first}-${field.decode(interval.last)}`;
}

/** Length of the prefix that covers exactly this range, or `undefined`. */
function prefixLength({ first, last }: Interval): number | undefined {
  let length = 0;
  const bits = first.length * 8;
  const bit = (bytes: Uint8Array, i: number): number => ((bytes[i >>> 3] ?? 0) >>> (7 - (i & 7))) & 1;
  while (length < bits && bit(first, length) === bit(last, length)) length++;
  for (let i = length; i < bits; i++) if (bit(first, i) !== 0 || bit(last, i) !== 1) return undefined;
  return length;
}

/** The one or two elements that make a range: a range up to the largest key has no end. */
export function boundaries(interval: Interval): Boundary[] {
  const end = successor(interval.last);
  const start = { key: interval.first, end: false };
  return end === undefined ? [start] : [start, { key: end, end: true }];
}

/** Puts elements read from the kernel, in any order, together again. An end without a start is none of ours. */
export function joinBoundaries(read: readonly Boundary[]): Interval[] {
  // At one key, the end of one range comes before the start of the next.
  const sorted = [...read].sort((a, b) => compareBytes(a.key, b.key) || Number(b.end) - Number(a.end));
  const intervals: Interval[] = [];
  let first: Uint8Array | undefined;
  for (const boundary of sorted) {
    if (boundary.end) {
      if (first !== undefined) intervals.push({ first, last: predecessor(boundary.key) });
      first = undefined;
    } else first ??= boundary.key;
  }
  if (first !== undefined) intervals.push({ first, last: new Uint8Array(first.length).fill(255) });
  return intervals;
}

/** Sorts ranges, and makes one of those that overlap or touch. */
export function mergeIntervals(intervals: readonly Interval[]): Interval[] {
  const merged: Interval[] = [];
  for (const next of [...intervals].sort((a, b) => compareBytes(a.first, b.first))) {
    const previous = merged.at(-1);
    const after = previous === undefined ? undefined : successor(previous.last);
    if (previous === undefined || (after !== undefined && compareBytes(next.first, after) > 0)) merged.push(next);
    else if (compareBytes(next.last, previous.last) > 0)
      merged[merged.length - 1] = { first: previous.first, last: next.last };
  }
  return merged;
}
