import { CalcGraph, type CalcGraphConfig, type CalcMessage } from "@bulrush/calc";
import { felixParametersOf } from "@bulrush/datastore";
import type { Update } from "@bulrush/model";

/** A graph that is in sync with `updates`, after its flush. `sink` gets all messages in the order sent. */
export function graphInSync(
  updates: readonly Update[],
  hostname: string,
  sink: (message: CalcMessage) => void,
  config: Partial<CalcGraphConfig> = {},
): CalcGraph {
  const graph = new CalcGraph({ hostname, sink, config, parametersOf: felixParametersOf });
  graph.onStatusUpdated("resync");
  graph.onUpdates(updates);
  graph.onStatusUpdated("in-sync");
  graph.flush();
  return graph;
}
