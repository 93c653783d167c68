import type { Update } from "@bulrush/model";
import type { CalcGraph } from "../src/graph/calc-graph.ts";
import { checkOutput } from "./figure.ts";
import { collectGarbage, cpuMs } from "./measure.ts";
import { noOutputs, type Outputs } from "./outputs.ts";

/** A kind of change, made to many targets one after the other and taken back again. */
export interface Operation {
  readonly name: string;
  readonly targets: number;
  /** How often a repeat goes over the targets. */
  readonly rounds: number;
  readonly repeats: number;
  /** Each change is taken back before the next is made. Default: all are made, then all are taken back. */
  readonly interleaved?: boolean;
  /** Updates that share a flush. Default 1. */
  readonly perFlush?: number;
  /** The phases whose mean counts. Default both. */
  readonly phases?: "revert";
  set(target: number): Update;
  revert(target: number): Update;
  /** Messages an update in the phases that count, as the reference gives them. */
  readonly expected: Readonly<Partial<Record<keyof Outputs, number>>>;
}

/** A loaded graph with its counted messages: the counts start again with every phase. */
export interface Loaded {
  readonly graph: CalcGraph;
  readonly outputs: Outputs;
}

/** Expected figures are given with three digits. */
const TOLERANCE = 0.02;

/** CPU an update, in microseconds: the median of the repeats. Throws when the messages are not the reference's. */
export function measureOperation(loaded: Loaded, operation: Operation): number {
  const made: Update[] = [];
  const undone: Update[] = [];
  for (let target = 0; target < operation.targets; target++) {
    made.push(operation.set(target));
    undone.push(operation.revert(target));
  }
  const times: number[] = [];
  for (let repeat = 0; repeat < operation.repeats; repeat++) {
    collectGarbage();
    let time = 0;
    for (let round = 0; round < operation.rounds; round++) time += measureRound(loaded, operation, made, undone);
    times.push(time / operation.rounds);
  }
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
}

/** All targets changed and changed back: microseconds an update of the phases that count. */
function measureRound(
  loaded: Loaded,
  operation: Operation,
  made: readonly Update[],
  undone: readonly Update[],
): number {
  const { name, targets, interleaved, perFlush = 1, phases, expected } = operation;
  const { graph, outputs } = loaded;
  reset(outputs);
  let start = process.cpuUsage();
  if (interleaved === true)
    hand(
      graph,
      made.flatMap((update, at) => [update, undone[at] as Update]),
      perFlush,
    );
  else {
    hand(graph, made, perFlush);
    if (phases === "revert") {
      reset(outputs);
      start = process.cpuUsage();
    }
    hand(graph, undone, perFlush);
  }
  const time = cpuMs(start);
  const updates = phases === "revert" ? targets : 2 * targets;
  for (const [field, each] of Object.entries(expected))
    checkOutput(`${name}: ${field} an update`, outputs[field as keyof Outputs] / updates, each, TOLERANCE);
  return (time * 1000) / updates;
}

function reset(outputs: Outputs): void {
  Object.assign(outputs, noOutputs());
}

function hand(graph: CalcGraph, updates: readonly Update[], perFlush: number): void {
  for (let at = 0; at < updates.length; at += perFlush) {
    graph.onUpdates(updates.slice(at, at + perFlush));
    graph.flush();
  }
}
