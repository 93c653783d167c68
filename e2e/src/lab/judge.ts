import { CalcGraph, DataplaneState, explainFlow, type Flow, type FlowVerdict } from "@bulrush/calc";
import type { Update } from "@bulrush/model";
import type { PodFlow } from "./matrix.ts";

/**
 * Explains flows against a datastore that changes: the same graph that programs a host, with every endpoint local.
 * Feed it whole states; it hands the graph only the differences, as a syncer would.
 */
export class Judge {
  readonly #state = new DataplaneState();
  readonly #graph: CalcGraph = new CalcGraph({
    hostname: "*",
    sink: (message) => {
      if (message.msg !== "DatastoreNotReady") this.#state.apply(message);
    },
  });
  #known = new Map<string, Update>();
  #isInSync = false;

  /** Brings the graph to this state. */
  update(next: readonly Update[]): void {
    this.#graph.onUpdates(differences(this.#known, next));
    this.#known = new Map(next.map((update) => [update.path, update]));
    if (!this.#isInSync) this.#graph.onStatusUpdated("in-sync");
    this.#isInSync = true;
    this.#graph.flush();
  }

  explain(flow: Flow): FlowVerdict {
    return explainFlow(this.#state, flow, { describeIpSet: (id) => this.#graph.describeIpSet(id) });
  }

  explainPodFlow(flow: PodFlow): FlowVerdict {
    return this.explain({
      source: { workload: flow.from.name },
      destination: { workload: flow.to.name },
      protocol: flow.protocol,
      port: flow.port,
      ipVersion: flow.address.family,
    });
  }
}

/** What turns one state into the next: changed and new KVs, and deletes of what is gone. */
function differences(known: ReadonlyMap<string, Update>, next: readonly Update[]): Update[] {
  const out: Update[] = [];
  const seen = new Set<string>();
  for (const update of next) {
    seen.add(update.path);
    const old = known.get(update.path);
    if (old === undefined) out.push({ ...update, type: "new" });
    else if (JSON.stringify(old.value, plainMaps) !== JSON.stringify(update.value, plainMaps))
      out.push({ ...update, type: "updated" });
  }
  for (const [path, old] of known) if (!seen.has(path)) out.push({ ...old, value: undefined, type: "deleted" });
  return out;
}

function plainMaps(_name: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value;
}
