import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Update } from "@bulrush/model";
import { CalcGraph } from "../src/graph/calc-graph.ts";
import type { CalcGraphConfig } from "../src/graph/config.ts";
import type { CalcMessage } from "../src/graph/message.ts";

/** What a load gave, counted from the messages: to be compared with the reference before its time is believed. */
export interface Outputs {
  ipSets: number;
  members: number;
  policies: number;
  rules: number;
  endpoints: number;
  ingressEntries: number;
  egressEntries: number;
  profiles: number;
  namespaces: number;
}

export interface LoadResult {
  readonly outputs: Outputs;
  /** CPU of handing over the updates, in-sync and flush; not of making the updates. */
  readonly cpuMs: number;
  /** Live heap of the process after a collection, with the graph alive and the inputs gone. */
  readonly heapMB: number;
  readonly graph: CalcGraph;
}

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

function countMessage(outputs: Outputs, message: CalcMessage): void {
  switch (message.msg) {
    case "IPSetUpdate":
      outputs.ipSets++;
      outputs.members += message.members.length;
      return;
    case "ActivePolicyUpdate":
      outputs.policies++;
      outputs.rules += message.policy.inbound_rules.length + message.policy.outbound_rules.length;
      return;
    case "ActiveProfileUpdate":
      outputs.profiles++;
      return;
    case "NamespaceUpdate":
      outputs.namespaces++;
      return;
    case "WorkloadEndpointUpdate":
      outputs.endpoints++;
      for (const tier of message.endpoint.tiers) {
        outputs.ingressEntries += tier.ingress_policies.length;
        outputs.egressEntries += tier.egress_policies.length;
      }
      return;
    default:
  }
}

/**
 * Loads a graph with the updates that `makeUpdates` gives, in-sync and one flush. The updates are made before the time
 * starts and dropped after it.
 */
export function measureLoad(makeUpdates: () => Update[], config: Partial<CalcGraphConfig> = {}): LoadResult {
  const outputs: Outputs = {
    ipSets: 0,
    members: 0,
    policies: 0,
    rules: 0,
    endpoints: 0,
    ingressEntries: 0,
    egressEntries: 0,
    profiles: 0,
    namespaces: 0,
  };
  const graph = new CalcGraph({ hostname: "localhost", sink: (message) => countMessage(outputs, message), config });
  const updates = makeUpdates();
  const time = load(graph, updates);
  // What still refers to the list must not hold the inputs.
  updates.length = 0;
  collectGarbage();
  const memory = process.memoryUsage();
  return { outputs, cpuMs: time, heapMB: (memory.heapUsed + memory.external) / 2 ** 20, graph };
}

function load(graph: CalcGraph, updates: Update[]): number {
  collectGarbage();
  const start = process.cpuUsage();
  graph.onUpdates(updates);
  graph.onStatusUpdated("in-sync");
  graph.flush();
  return cpuMs(start);
}
