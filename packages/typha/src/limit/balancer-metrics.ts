import type { Counter, Metrics } from "@bulrush/service";

export interface BalancerMetrics {
  /** A new limit; undefined counts are not known. */
  counted(limit: number, typhas: number | undefined, nodes: number | undefined): void;
  shed(why: "limit" | "levelling"): void;
  stuck(isStuck: boolean): void;
  /** Streams that were handed over lately and are here again. */
  cameBack(count: number): void;
}

/** Registers the metrics of balance, once per registry. `dropped` is upstream's `typha_connections_dropped`. */
export function createBalancerMetrics(metrics: Metrics, dropped: Counter): BalancerMetrics {
  const limit = metrics.gauge({
    name: "bulrush_typha_connection_limit",
    help: "Streams above which this server hands some over",
  });
  const typhas = metrics.gauge({
    name: "bulrush_typha_ready_servers",
    help: "Ready servers of the Service; -1: they cannot be counted",
  });
  const nodes = metrics.gauge({
    name: "bulrush_typha_nodes",
    help: "Nodes; -1: they are not all known",
  });
  const shed = metrics.counterFamily({
    name: "bulrush_typha_connections_shed",
    help: "Streams handed over to other servers: over the limit, or to level",
    labels: ["why"] as const,
  });
  const stuck = metrics.gauge({
    name: "bulrush_typha_over_limit_without_room",
    help: "1 while this server is over its limit and no other server has room",
  });
  const cameBack = metrics.gauge({
    name: "bulrush_typha_shed_came_back",
    help: "Streams that were handed over in the last ten minutes and are here again: more than a few, and servers drop in circles",
  });
  return {
    cameBack: (count) => cameBack.set(count),
    counted(newLimit, typhaCount = -1, nodeCount = -1) {
      limit.set(newLimit);
      typhas.set(typhaCount);
      nodes.set(nodeCount);
    },
    shed(why) {
      dropped.inc();
      shed.with({ why }).inc();
    },
    stuck: (isStuck) => stuck.set(isStuck ? 1 : 0),
  };
}
