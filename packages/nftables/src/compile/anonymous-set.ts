import { type Boundary, boundaries, type Interval, mergeIntervals } from "../element/interval.ts";
import { invalid } from "../invalid.ts";
import type { Literal, Right } from "../statement.ts";
import { compareBytes } from "../wire/bytes.ts";
import { hex } from "../wire/hex.ts";
import type { OperandShape } from "./operand-shape.ts";

/** A set that lives and dies with its rule. */
export interface AnonymousSet {
  readonly datatype: number;
  readonly bytes: number;
  readonly order: "big" | "host";
  readonly interval: boolean;
  /** Sorted. Without `interval`, none is an end. */
  readonly elements: readonly Boundary[];
}

type AnonymousElements = Extract<Right, { kind: "anonymous" }>["elements"];

/**
 * The values and ranges of an anonymous set, sorted, those that touch or overlap made one: the same for every way to
 * write the same set. Values become ranges of one.
 */
export function anonymousIntervals(shape: OperandShape, elements: AnonymousElements): Interval[] {
  if (elements.length === 0) throw invalid("anonymous set", "{}");
  return mergeValues(
    elements.map((element) => {
      if (!isRange(element)) {
        const key = shape.encode(element);
        return { first: key, last: key };
      }
      if (shape.order !== "big" && shape.bytes > 1) throw invalid("range of a value in host order", element.first);
      const interval = { first: shape.encode(element.first), last: shape.encode(element.last) };
      if (compareBytes(interval.first, interval.last) > 0) throw invalid("range", `${element.first}-${element.last}`);
      return interval;
    }),
    elements.some(isRange),
  );
}

/** Single values stay single: only a set that has ranges in it is one of ranges. */
function mergeValues(intervals: readonly Interval[], ranges: boolean): Interval[] {
  if (ranges) return mergeIntervals(intervals);
  const sorted = [...intervals].sort((a, b) => compareBytes(a.first, b.first));
  return sorted.filter(
    (interval, i) => i === 0 || compareBytes(interval.first, sorted[i - 1]?.first ?? interval.first) !== 0,
  );
}

function isRange(element: AnonymousElements[number]): element is { readonly first: number; readonly last: number } {
  return typeof (element as Literal | object) === "object";
}

export function isSingle(interval: Interval): boolean {
  return compareBytes(interval.first, interval.last) === 0;
}

export function anonymousSet(shape: OperandShape, intervals: readonly Interval[]): AnonymousSet {
  const interval = !intervals.every(isSingle);
  return {
    datatype: shape.datatype,
    bytes: shape.bytes,
    order: shape.order,
    interval,
    elements: interval ? intervals.flatMap(boundaries) : intervals.map(({ first }) => ({ key: first, end: false })),
  };
}

/** What stands for the set in the key of its rule: equal for equal contents. */
export function anonymousSetKey(set: Pick<AnonymousSet, "datatype" | "interval" | "elements">): string {
  const elements = [...set.elements].sort((a, b) => compareBytes(a.key, b.key) || Number(b.end) - Number(a.end));
  // An end before every start means nothing; nft writes one at zero.
  while (elements[0]?.end === true) elements.shift();
  const text = elements.map((element) => `${hex(element.key)}${element.end ? "!" : ""}`).join(",");
  return `{${set.datatype}${set.interval ? " interval" : ""} ${text}}`;
}
