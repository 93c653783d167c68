import type { Clock } from "@bulrush/base";
import type { DatastoreConfig } from "@bulrush/datastore";
import type { Logger } from "@bulrush/service";
import {
  addressServers,
  createSyncClient,
  formatServerAddress,
  type ServerSource,
  serviceServers,
  type SyncClientState,
  tlsFromParameters,
} from "@bulrush/sync-client";
import type { FelixConfig } from "../config/felix-config.ts";
import { serviceSlices } from "./service-slices.ts";
import type { SourceFactory, SourceReport } from "./source.ts";

/** The port of Typha's Service, by name: there is no setting for it on this side. */
const PORT_NAME = "calico-typha";

export interface TyphaSourceOptions {
  readonly config: FelixConfig;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** The Kubernetes API that has the Service; called where no TyphaAddr is set. May throw. */
  readonly services: () => DatastoreConfig;
}

/**
 * Follows the Typha of TyphaAddr, or one of the Service that is set. Throws SYNC_CLIENT_TLS_INCOMPLETE,
 * SYNC_CLIENT_BAD_ADDRESS or what `services` throws, and what it returns does not: bad settings come out while they can
 * still be read again.
 */
export function typhaSource(options: TyphaSourceOptions): SourceFactory {
  const { config, clock, random, logger } = options;
  const makeServers = serversOf(options);
  const tls = tlsFromParameters({
    caFile: config.TyphaCAFile,
    certFile: config.TyphaCertFile,
    keyFile: config.TyphaKeyFile,
    serverCN: config.TyphaCN,
    serverURISAN: config.TyphaURISAN,
  });
  return (callbacks) => {
    const opened = makeServers();
    const client = createSyncClient({
      servers: opened.servers,
      ...(tls !== undefined && { tls }),
      hostname: config.FelixHostname,
      nodeName: config.FelixHostname,
      info: "bulrush-agent",
      syncer: "felix",
      callbacks,
      clock,
      random,
      logger,
      readTimeoutMs: config.TyphaReadTimeout * 1000,
      writeTimeoutMs: config.TyphaWriteTimeout * 1000,
    });
    return {
      start(held) {
        if (held !== undefined) client.hold({ kvs: held.updates, atMs: held.atMs });
        client.start();
      },
      async stop() {
        await client.stop();
        await opened.close();
      },
      ack: (sequence) => client.ack(sequence),
      report: () => describe(client.state()),
    };
  };
}

interface OpenServers {
  readonly servers: ServerSource;
  close(): Promise<void>;
}

function serversOf({ config, services, clock, random, logger }: TyphaSourceOptions): () => OpenServers {
  const { TyphaAddr, TyphaK8sServiceName: serviceName, TyphaK8sNamespace: namespace } = config;
  if (TyphaAddr !== "") {
    const servers = addressServers(TyphaAddr);
    return () => ({ servers, close: () => Promise.resolve() });
  }
  const datastore = services();
  return () => {
    const feed = serviceSlices({ datastore, namespace, serviceName, clock, logger });
    const servers = serviceServers({ feed, serviceName, portName: PORT_NAME, clock, random, logger });
    const close = async (): Promise<void> => {
      servers.close();
      await feed.close();
    };
    return { servers, close };
  };
}

function describe(state: SyncClientState): SourceReport {
  const connected = state.phase === "streaming";
  const address = state.server === undefined ? "" : formatServerAddress(state.server);
  const server = state.serverName === undefined ? address : `${state.serverName} (${address})`;
  const why = state.lastError === undefined ? "" : `: ${state.lastError.message}`;
  switch (state.phase) {
    case "streaming":
      return { connected, detail: `following ${server}` };
    case "snapshot":
      return { connected, detail: `taking a snapshot from ${server}` };
    case "connecting":
    case "handshake":
      return { connected, detail: `connecting to Typha ${server}${why}` };
    case "waiting":
      return { connected, detail: `no Typha, trying again${why}` };
    case "stopped":
      return { connected, detail: "stopped" };
  }
}
