import {
  type CalcGraph,
  type CalcMessage,
  DataplaneState,
  explainFlow,
  type Flow,
  type FlowVerdict,
} from "@bulrush/calc";
import { graphInSync } from "../input/graph.ts";
import type { ManifestInput } from "../input/manifests.ts";
import { type KnownPods, knownPods } from "./known-pods.ts";

/** Answers for flows on one set of manifests. */
export interface Explainer {
  readonly pods: KnownPods;
  explain(flow: Flow): FlowVerdict;
}

/** The graph with every host's endpoints in it, and what it has sent: the same that an agent would program. */
export function explainerFor(input: Pick<ManifestInput, "updates" | "resources">): Explainer {
  const state = new DataplaneState();
  const graph: CalcGraph = graphInSync(input.updates, "*", (message: CalcMessage) => {
    if (message.msg !== "DatastoreNotReady") state.apply(message);
  });
  const details = { describeIpSet: (id: string) => graph.describeIpSet(id) };
  return { pods: knownPods(state, input.resources), explain: (flow) => explainFlow(state, flow, details) };
}
