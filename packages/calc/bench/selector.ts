import { parseSelector } from "@bulrush/selector";
import { LabelKeys } from "../src/labels/label-set.ts";
import { compileSelector, matches } from "../src/labels/match-node.ts";
import { checkOutput } from "./figure.ts";
import { cpuMs } from "./measure.ts";

const S1 = "has(a) && b == 'c' && d in {'x','y'}";
const SAMPLES = 7;
const PARSES = 200_000;
const EVALUATIONS = 5_000_000;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Microseconds for reading a selector of three terms. */
export function measureParse(): number {
  const sample = (): number => {
    const start = process.cpuUsage();
    let operators = 0;
    for (let i = 0; i < PARSES; i++) operators += parseSelector(S1).root.op;
    const time = cpuMs(start);
    checkOutput("operators of the parsed selectors", operators, PARSES * parseSelector(S1).root.op);
    return (time * 1000) / PARSES;
  };
  return median(Array.from({ length: SAMPLES }, sample));
}

/** Nanoseconds for evaluating it on eight labels that it matches, all as numbers. */
export function measureEvaluate(): number {
  const keys = new LabelKeys();
  const node = compileSelector(parseSelector(S1).root, keys);
  const labels = new Map([
    ["a", "1"],
    ["b", "c"],
    ["d", "y"],
    ["one-in-10", "value-1"],
    ["one-in-11", "value-2"],
    ["one-in-20", "value-3"],
    ["one-in-30", "value-4"],
    ["zone", "z1"],
  ]);
  const item = { labels: keys.makeSet(labels), parents: [] };
  const sample = (): number => {
    const start = process.cpuUsage();
    let hits = 0;
    for (let i = 0; i < EVALUATIONS; i++) if (matches(node, item)) hits++;
    const time = cpuMs(start);
    checkOutput("matches", hits, EVALUATIONS);
    return (time * 1e6) / EVALUATIONS;
  };
  return median(Array.from({ length: SAMPLES }, sample));
}
