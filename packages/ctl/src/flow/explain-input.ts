import {
  type DataplaneState,
  type ExplainerOptions,
  Explainer as FlowExplainer,
  type Flow,
  type FlowVerdict,
  type KnownEnds,
  knownEnds,
} from "@bulrush/calc";
import { felixParametersOf } from "@bulrush/datastore";
import type { PodResource, Update } from "@bulrush/model";
import type { World } from "../input/world.ts";
import { failsafePortsOf } from "./failsafe-ports.ts";

/** Answers for flows on one set of manifests, or one datastore. */
export interface Explainer {
  /** What they become. */
  readonly updates: readonly Update[];
  readonly ends: KnownEnds;
  /** What the agents of all hosts would be told. */
  readonly state: DataplaneState;
  /** `full`: see Explainer.explain in calc. */
  explain(flow: Flow, full?: boolean): FlowVerdict;
}

/** The graph with every host's endpoints in it, and what it has sent: the same that an agent would program. */
export async function explainerFor({ updates, resources }: Omit<World, "problems">): Promise<Explainer> {
  const options: ExplainerOptions = { parametersOf: felixParametersOf, failsafe: await failsafePortsOf(updates) };
  const explainer = new FlowExplainer(options);
  explainer.update(updates);
  const pods = resources.flatMap(({ resource }) => (resource.kind === "Pod" ? [resource as PodResource] : []));
  return {
    updates,
    ends: knownEnds(explainer.state, updates, pods),
    state: explainer.state,
    explain: (flow, full = false) => explainer.explain(flow, full),
  };
}
