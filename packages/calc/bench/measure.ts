import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Update } from "@bulrush/model";
import { CalcGraph } from "../src/graph/calc-graph.ts";
import { countMessage, noOutputs, type Outputs } from "./outputs.ts";

export interface LoadResult {
  readonly outputs: Outputs;
  /** CPU of handing over the updates, in-sync and flush; not of making the updates. */
  readonly cpuMs: number;
  /** Live heap of the process after a collection, with the graph alive and the inputs gone. */
  readonly heapMB: number;
  /** Resident set at the end of the load. */
  readonly residentMB: number;
  readonly graph: CalcGraph;
}

const MB = 2 ** 20;
/** Updates handed over at once in a stream. */
const BATCH = 1000;

let collect: (() => void) | undefined;

/** Collects garbage, twice: what finalisers let go of goes too. */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  collect();
  collect();
}

export function cpuMs(since?: NodeJS.CpuUsage): number {
  const usage = process.cpuUsage(since);
  return (usage.user + usage.system) / 1000;
}

/** A graph whose messages are counted in `outputs`. */
export function countingGraph(outputs: Outputs, hostname = "localhost"): CalcGraph {
  return new CalcGraph({ hostname, sink: (message) => countMessage(outputs, message) });
}

function liveHeapMB(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MB;
}

/**
 * Loads a graph with the updates that `makeUpdates` gives, in-sync and one flush. The updates are made before the time
 * starts and dropped after it.
 */
export function measureLoad(makeUpdates: () => Update[]): LoadResult {
  const outputs = noOutputs();
  const graph = countingGraph(outputs);
  const updates = makeUpdates();
  const time = load(graph, updates);
  const residentMB = process.memoryUsage.rss() / MB;
  // What still refers to the list must not hold the inputs.
  updates.length = 0;
  return { outputs, cpuMs: time, heapMB: liveHeapMB(), residentMB, graph };
}

function load(graph: CalcGraph, updates: Update[]): number {
  collectGarbage();
  const start = process.cpuUsage();
  graph.onUpdates(updates);
  graph.onStatusUpdated("in-sync");
  graph.flush();
  return cpuMs(start);
}

/**
 * Loads a graph in batches that are made just before they are handed over and dropped after it, as a client of a
 * stream does. Only the graph's part of the time counts.
 */
export function measureStream(updates: Iterable<Update>, hostname = "localhost"): LoadResult {
  const outputs = noOutputs();
  const graph = countingGraph(outputs, hostname);
  let time = 0;
  const hand = (batch: readonly Update[]): void => {
    const start = process.cpuUsage();
    graph.onUpdates(batch);
    time += cpuMs(start);
  };
  let batch: Update[] = [];
  for (const update of updates) {
    batch.push(update);
    if (batch.length < BATCH) continue;
    hand(batch);
    batch = [];
  }
  hand(batch);
  batch = [];
  const start = process.cpuUsage();
  graph.onStatusUpdated("in-sync");
  graph.flush();
  time += cpuMs(start);
  const residentMB = process.memoryUsage.rss() / MB;
  return { outputs, cpuMs: time, heapMB: liveHeapMB(), residentMB, graph };
}
