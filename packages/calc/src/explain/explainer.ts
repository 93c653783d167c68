import type { Update } from "@bulrush/model";
import { CalcGraph } from "../graph/calc-graph.ts";
import type { CalcGraphConfig } from "../graph/config.ts";
import type { ParametersOf } from "../passthrough/config-batcher.ts";
import { DataplaneState } from "../state/dataplane-state.ts";
import { Directory } from "./directory.ts";
import { type ExplainDetails, explainFlow } from "./explain-flow.ts";
import type { FailsafePorts } from "./failsafe.ts";
import type { Flow, FlowVerdict } from "./flow.ts";

/** What an answer depends on beside the datastore's contents. Default: as on a host without settings. */
export interface ExplainerOptions {
  readonly config?: Partial<CalcGraphConfig>;
  /** As in CalcGraphOptions. */
  readonly parametersOf?: ParametersOf;
  /** Ports that host endpoints always let through. Default: none. */
  readonly failsafe?: FailsafePorts;
  /**
   * Ids (`kind/namespace/name`) of policies that staged ones would delete: no update tells of those. Default: none.
   */
  readonly deletedByStaged?: ReadonlySet<string>;
}

/**
 * Answers for flows on one datastore: a graph of all hosts, with what it has sent, and a directory of who has which
 * labels. Pure: it runs wherever the updates can be had, in a browser too.
 *
 * Invariant: between calls, `state` and the directory are of the same updates.
 */
export class Explainer {
  /** What the graph has sent so far. The explainer alone writes it. */
  readonly state: DataplaneState = new DataplaneState();
  readonly #graph: CalcGraph;
  readonly #directory = new Directory();
  readonly #failsafe: FailsafePorts;
  readonly #deletedByStaged: ReadonlySet<string>;
  #isInSync = false;

  constructor(options: ExplainerOptions = {}) {
    const { config, parametersOf, failsafe } = options;
    this.#deletedByStaged = options.deletedByStaged ?? new Set();
    this.#failsafe = failsafe ?? { inbound: [], outbound: [] };
    this.#graph = new CalcGraph({
      hostname: "*",
      sink: (message) => {
        if (message.msg !== "DatastoreNotReady") this.state.apply(message);
      },
      ...(config && { config }),
      ...(parametersOf && { parametersOf }),
    });
  }

  /** Takes changes, in any order; answers are of what is there after them. */
  update(updates: readonly Update[]): void {
    this.#graph.onUpdates(updates);
    this.#directory.onUpdates(updates);
    if (!this.#isInSync) this.#graph.onStatusUpdated("in-sync");
    this.#isInSync = true;
    this.#graph.flush();
  }

  /**
   * The verdict of a flow, with host endpoints on its way. `full`: with the terms of selectors that fail, what would
   * decide next, what staged policies would change, and why others do not apply; it reads all policies. Throws a
   * CalcError as explainFlow does.
   */
  explain(flow: Flow, full = false): FlowVerdict {
    const details: ExplainDetails = { hosts: this.#failsafe, describeIpSet: (id) => this.#graph.describeIpSet(id) };
    if (!full) return explainFlow(this.state, flow, details);
    return explainFlow(this.state, flow, {
      ...details,
      describeMember: (set, address) => this.#directory.describeMember(set, address),
      unselected: (endpoint, direction) => this.#directory.unselected(endpoint, direction),
      whatIf: true,
      replacedByStaged: this.#directory.replacedByStaged.union(this.#deletedByStaged),
    });
  }
}
