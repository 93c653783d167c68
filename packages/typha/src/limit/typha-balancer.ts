import type { Clock } from "@bulrush/base";
import type { DatastoreWriter } from "@bulrush/datastore";
import type { Logger, Metrics } from "@bulrush/service";
import { syncTlsSettings } from "../config/load-typha-config.ts";
import type { TyphaConfig } from "../config/typha-config.ts";
import type { ServerMetrics } from "../server/server-metrics.ts";
import { askLoad } from "./ask-load.ts";
import { type BalancedStream, Balancer } from "./balancer.ts";
import { createBalancerMetrics } from "./balancer-metrics.ts";
import { listTyphas } from "./list-typhas.ts";

export interface TyphaBalancerOptions {
  readonly config: TyphaConfig;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly serverMetrics: ServerMetrics;
  readonly instance: string;
  /** Those that may be handed over. */
  readonly streams: () => readonly BalancedStream[];
  /** Streams that are served. */
  readonly syncerTypes: number;
  /** The Kubernetes API, where the Service is. May fail; then it is opened anew at the next count. */
  readonly openServices: () => Promise<DatastoreWriter>;
  readonly countNodes: () => number | undefined;
  readonly takesClients: () => boolean;
}

/** The balancer of a Typha, and the end of what it holds. */
export interface TyphaBalancer {
  readonly balancer: Balancer;
  close(): Promise<void>;
}

/** The balancer that the settings ask for; undefined: none. It is not started. */
export function createTyphaBalancer(options: TyphaBalancerOptions): TyphaBalancer | undefined {
  const { config, openServices } = options;
  if (config.ConnectionRebalancingMode !== "kubernetes") return undefined;
  const tls = syncTlsSettings(config);
  const ms = (secs: number, defaultMs: number): number => (secs > 0 ? secs * 1000 : defaultMs);
  const service = {
    namespace: config.K8sNamespace,
    serviceName: config.K8sServiceName,
    portName: config.K8sPortName,
  };
  let reader: DatastoreWriter | undefined;
  const balancer = new Balancer({
    settings: {
      lower: Math.max(1, config.MaxConnectionsLowerLimit),
      upper: Math.max(1, config.MaxConnectionsUpperLimit),
      syncerTypes: options.syncerTypes,
      basis: config.ConnectionLimitBasis === "observed" ? "observed" : "formula",
      levelling: config.ConnectionLevelling,
      dropIntervalMs: ms(config.ConnectionDropIntervalSecs, 1000),
      pollIntervalMs: ms(config.K8sServicePollIntervalSecs, 30_000),
    },
    clock: options.clock,
    random: options.random,
    logger: options.logger,
    metrics: createBalancerMetrics(options.metrics, options.serverMetrics.dropped),
    instance: options.instance,
    listTyphas: async (signal) => {
      reader ??= await openServices();
      return listTyphas(reader, service, signal);
    },
    countNodes: options.countNodes,
    askLoad: (address, reserve, signal) => askLoad(address, reserve, tls, signal),
    streams: options.streams,
    takesClients: options.takesClients,
  });
  return {
    balancer,
    async close() {
      balancer.stop();
      await reader?.close();
      reader = undefined;
    },
  };
}
