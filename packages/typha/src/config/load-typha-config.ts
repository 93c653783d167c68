import { SYNC_PORT } from "@bulrush/proto";
import { loadConfig, type LoadedConfig } from "@bulrush/service";
import { DEFAULT_SERVER_SETTINGS, type SyncServerSettings } from "../server/settings.ts";
import type { SyncTlsSettings } from "../server/tls-material.ts";
import type { TyphaConfig } from "./typha-config.ts";
import { TYPHA_TABLE } from "./typha-table.ts";

/** Clients go by this at most when they wait for the next ping. */
const MAX_PING_INTERVAL_MS = 600_000;

/** Upstream's path. It may be missing. */
export const DEFAULT_CONFIG_FILE = "/etc/calico/typha.cfg";

/** The places that settings come from. */
export interface ConfigSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Text of the file; undefined when there is none. */
  readonly fileText?: string | undefined;
  readonly fileName?: string;
  /** Default: `fs.existsSync`. */
  readonly fileExists?: (path: string) => boolean;
}

/** Reads all settings: environment, then file, then defaults. Never throws; see `errors` of the result. */
export function loadTyphaConfig(sources: ConfigSources): LoadedConfig<TyphaConfig> {
  return loadConfig(TYPHA_TABLE, { prefix: "TYPHA_", rules: typhaRules, ...sources });
}

/** The rules over several settings. Each string is an error that names the settings. */
function typhaRules(config: TyphaConfig): readonly string[] {
  const files: readonly (readonly [string, string])[] = [
    ["ServerKeyFile", config.ServerKeyFile],
    ["ServerCertFile", config.ServerCertFile],
    ["CAFile", config.CAFile],
  ];
  const hasIdentity = config.ClientCN !== "" || config.ClientURISAN !== "";
  if (!hasIdentity && files.every(([, value]) => value === "")) return [];
  const missing = files.filter(([, value]) => value === "").map(([name]) => name);
  if (!hasIdentity) missing.push("ClientCN or ClientURISAN");
  return missing.length === 0 ? [] : [`TLS needs all of its settings; missing: ${missing.join(", ")}`];
}

/** The TLS of the sync port; undefined when no TLS setting is there. */
export function syncTlsSettings(config: TyphaConfig): SyncTlsSettings | undefined {
  if (config.ServerKeyFile === "") return undefined;
  return {
    keyFile: config.ServerKeyFile,
    certFile: config.ServerCertFile,
    caFile: config.CAFile,
    clientRule: {
      ...(config.ClientCN !== "" && { commonName: config.ClientCN }),
      ...(config.ClientURISAN !== "" && { uri: config.ClientURISAN }),
    },
  };
}

/** The sync server's settings, in milliseconds. Times of 0 and less are their defaults. */
export function syncServerSettings(config: TyphaConfig, serverName: string): SyncServerSettings {
  const defaults = DEFAULT_SERVER_SETTINGS;
  const ms = (secs: number, defaultMs: number): number => (secs > 0 ? secs * 1000 : defaultMs);
  const pingIntervalMs = Math.min(MAX_PING_INTERVAL_MS, ms(config.ServerPingIntervalSecs, defaults.pingIntervalMs));
  const pongTimeoutMs = ms(config.ServerPongTimeoutSecs, defaults.pongTimeoutMs);
  return {
    serverName,
    maxConnections: config.MaxConnectionsUpperLimit > 0 ? config.MaxConnectionsUpperLimit : defaults.maxConnections,
    handshakeTimeoutMs: ms(config.ServerHandshakeTimeoutSecs, defaults.handshakeTimeoutMs),
    writeTimeoutMs: ms(config.ServerWriteTimeoutSecs, defaults.writeTimeoutMs),
    pingIntervalMs,
    pongTimeoutMs: pongTimeoutMs <= 2 * pingIntervalMs ? 6 * pingIntervalMs : pongTimeoutMs,
    maxFallBehindMs: ms(config.ServerMaxFallBehindSecs, defaults.maxFallBehindMs),
    newClientGraceMs: ms(config.ServerNewClientFallBehindGracePeriod, defaults.newClientGraceMs),
    maxBacklogBytes: Math.max(config.ResumeMaxBytes, defaults.maxBacklogBytes),
    inSyncWaitMs: defaults.inSyncWaitMs,
    staleAfterMs: Math.max(0, config.StaleAfterSecs * 1000),
    shutdownTimeoutMs: ms(config.ShutdownTimeoutSecs, defaults.shutdownTimeoutMs),
    shutdownMaxGapMs: ms(config.ShutdownConnectionDropIntervalMaxSecs, defaults.shutdownMaxGapMs),
  };
}

/** A port of this value means any free one: for tests, as no setting can say it. */
export const RANDOM_PORT: number = -1;

/** Where the sync server listens: 0 in the settings means the well-known port. */
export function syncPort(config: TyphaConfig): number {
  if (config.ServerPort === RANDOM_PORT) return 0;
  return config.ServerPort === 0 ? SYNC_PORT : config.ServerPort;
}
