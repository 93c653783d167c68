import { parseIPv4 } from "@bulrush/ip";
import { invalid } from "../invalid.ts";
import type { KernelElement } from "../object/element-codec.ts";
import type { MapShape, SetShape } from "../operation.ts";
import type { Verdict } from "../statement.ts";
import { boundaries, formatInterval, joinBoundaries, parseInterval } from "./interval.ts";
import { decodeKey, encodeKey, keyShape, type KeyShape } from "./key-shape.ts";

/** How a foreign element that stands for all other keys is written. */
const CATCHALL_TEXT = "*";

/**
 * The shape of a set's keys. Throws NFT_INVALID for intervals of concatenations, which cost seconds to change, and for what
 * packets could fill without bound.
 */
export function setKeyShape(set: SetShape): KeyShape {
  if (set.interval && set.key.length > 1) throw invalid("interval set of a concatenation", set.name);
  if (set.dynamic === true && (set.interval || set.size === undefined))
    throw invalid("dynamic set of networks, or without a size:", set.name);
  return keyShape(set.key);
}

/** The kernel's elements for these texts. Throws NFT_INVALID naming the first bad one. */
export function encodeSetElements(set: SetShape, texts: readonly string[]): KernelElement[] {
  const shape = setKeyShape(set);
  const elements: KernelElement[] = [];
  for (const text of texts) {
    if (text === CATCHALL_TEXT) elements.push({ key: new Uint8Array(0), end: false, catchall: true });
    else if (set.interval) elements.push(...boundaries(parseInterval(shape, text)));
    else elements.push({ key: encodeKey(shape, text), end: false });
  }
  return elements;
}

/**
 * The addresses of a plain set of IPv4 addresses as numbers, in order; `undefined` for any other set, and where a text is
 * no such address.
 */
export function ipv4Words(set: SetShape, texts: readonly string[]): Uint32Array | undefined {
  if (set.interval || set.key.length !== 1 || set.key[0] !== "ipv4_addr") return undefined;
  const words = new Uint32Array(texts.length);
  for (let i = 0; i < texts.length; i++) {
    const word = parseIPv4(texts[i] ?? "");
    if (word === undefined) return undefined;
    words[i] = word;
  }
  return words;
}

/** The canonical texts of elements read from the kernel. */
export function decodeSetElements(shape: KeyShape, interval: boolean, elements: readonly KernelElement[]): Set<string> {
  const texts = new Set<string>();
  if (interval) {
    const plain = elements.filter((element) => element.catchall !== true);
    for (const range of joinBoundaries(plain)) texts.add(formatInterval(shape, range));
    if (plain.length < elements.length) texts.add(CATCHALL_TEXT);
    return texts;
  }
  for (const element of elements) texts.add(element.catchall === true ? CATCHALL_TEXT : decodeKey(shape, element.key));
  return texts;
}

export function encodeMapElements(
  map: MapShape,
  elements: readonly (readonly [key: string, verdict: Verdict | undefined])[],
): KernelElement[] {
  const shape = keyShape([map.key]);
  return elements.map(([text, verdict]) => ({
    ...(text === CATCHALL_TEXT
      ? { key: new Uint8Array(0), end: false, catchall: true }
      : { key: encodeKey(shape, text), end: false }),
    ...(verdict === undefined ? {} : { verdict }),
  }));
}

/** A verdict that we have no name for reads as `continue`: it differs from all that is wanted, and is replaced. */
export function decodeMapElements(shape: KeyShape, elements: readonly KernelElement[]): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  for (const element of elements)
    verdicts.set(
      element.catchall === true ? CATCHALL_TEXT : decodeKey(shape, element.key),
      element.verdict ?? { kind: "continue" },
    );
  return verdicts;
}
