import type { Clock } from "@bulrush/base";
import type { Logger } from "@bulrush/service";
import {
  createSyncClient,
  formatServerAddress,
  parseServerAddress,
  type SyncClientState,
  tlsFromParameters,
} from "@bulrush/sync-client";
import type { FelixConfig } from "../config/felix-config.ts";
import type { SourceFactory, SourceReport } from "./source.ts";

export interface TyphaSourceOptions {
  readonly config: FelixConfig;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * Follows the Typha of TyphaAddr. Throws SYNC_CLIENT_TLS_INCOMPLETE or SYNC_CLIENT_BAD_ADDRESS, and what it returns does
 * not: bad settings come out while they can still be read again.
 */
export function typhaSource(options: TyphaSourceOptions): SourceFactory {
  const { config, clock, random, logger } = options;
  const servers = [parseServerAddress(config.TyphaAddr)];
  const tls = tlsFromParameters({
    caFile: config.TyphaCAFile,
    certFile: config.TyphaCertFile,
    keyFile: config.TyphaKeyFile,
    serverCN: config.TyphaCN,
    serverURISAN: config.TyphaURISAN,
  });
  return (callbacks) => {
    const client = createSyncClient({
      servers,
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
      start: () => client.start(),
      stop: () => client.stop(),
      ack: (sequence) => client.ack(sequence),
      report: () => describe(client.state()),
    };
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
