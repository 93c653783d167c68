import {
  type DataplaneState,
  type ExplainerOptions,
  Explainer as FlowExplainer,
  type Flow,
  type FlowVerdict,
  type KnownEnds,
  type FlowText,
  knownEnds,
  targetsOf,
} from "@bulrush/calc";
import { felixParametersOf } from "@bulrush/datastore";
import type { PodResource, Update } from "@bulrush/model";
import type { World } from "../input/world.ts";
import { deletedByStaged } from "./deleted-by-staged.ts";
import { derivedBackends } from "./derived-backends.ts";
import { failsafePortsOf } from "./failsafe-ports.ts";

/** Answers for flows on one set of manifests, or one datastore. */
export interface Explainer {
  /** What they become. */
  readonly updates: readonly Update[];
  readonly ends: KnownEnds;
  /** The flows that a flow stands for: itself, or those to the backends of a service; or why there are none. */
  targets(text: FlowText): FlowTargets;
  /** What the agents of all hosts would be told. */
  readonly state: DataplaneState;
  /** `full`: see Explainer.explain in calc. */
  explain(flow: Flow, full?: boolean): FlowVerdict;
}

/** `note`: what was assumed of the backends. */
type FlowTargets = ReturnType<typeof targetsOf> & { readonly note?: string };

/** The graph with every host's endpoints in it, and what it has sent: the same that an agent would program. */
export async function explainerFor({ updates, resources }: Omit<World, "problems">): Promise<Explainer> {
  const options: ExplainerOptions = {
    parametersOf: felixParametersOf,
    failsafe: await failsafePortsOf(updates),
    deletedByStaged: deletedByStaged(resources.map(({ resource }) => resource)),
  };
  const explainer = new FlowExplainer(options);
  explainer.update(updates);
  const pods = resources.flatMap(({ resource }) => (resource.kind === "Pod" ? [resource as PodResource] : []));
  const derived = derivedBackends(resources.map(({ resource }) => resource));
  const known = [...updates, ...derived.updates];
  return {
    updates,
    targets(text) {
      const targets = targetsOf(known, text);
      if (!("service" in targets) || !derived.services.has(targets.service)) return targets;
      const note = `No EndpointSlice of service ${targets.service} is here: the pods that it selects are taken for its backends`;
      return { ...targets, note };
    },
    ends: knownEnds(explainer.state, updates, pods),
    state: explainer.state,
    explain: (flow, full = false) => explainer.explain(flow, full),
  };
}
