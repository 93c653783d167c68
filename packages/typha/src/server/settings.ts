/** What the sync server goes by. All times in milliseconds; the process's settings give them in seconds. */
export interface SyncServerSettings {
  /** Told to clients in the welcome: the pod's or host's name. */
  readonly serverName: string;
  /** More streams than this are rejected at hello. Default 10,000. */
  readonly maxConnections: number;
  /** From accept to hello: TLS, upgrade and hello together. Default 10,000. */
  readonly handshakeTimeoutMs: number;
  /** A write that the peer's kernel does not take for this long ends the stream. Default 120,000. */
  readonly writeTimeoutMs: number;
  /** Time between pings, plus up to 10 %; clients that cannot be told are pinged each 10,000 at least. Default 10,000. */
  readonly pingIntervalMs: number;
  /** A ping without an answer for this long ends the stream. Default 60,000. */
  readonly pongTimeoutMs: number;
  /** A client that is further behind than this, and not catching up, is told to start anew. Default 300,000. */
  readonly maxFallBehindMs: number;
  /** After its snapshot a client may be further behind for this long. Default 300,000. */
  readonly newClientGraceMs: number;
  /** Changes that wait for one client, in bytes; more, and it is told to start anew. Default 64 MiB. */
  readonly maxBacklogBytes: number;
  /** A client that holds something waits so long for a server that is not in sync yet. Default 10,000. */
  readonly inSyncWaitMs: number;
  /** Without an answer from the datastore for this long a stream is stale; 0: never. Default 120,000. */
  readonly staleAfterMs: number;
  /** Budget of a drain. Default 300,000. */
  readonly shutdownTimeoutMs: number;
  /** The most time between two goodbyes of a drain. Default 1,000. */
  readonly shutdownMaxGapMs: number;
}

export const DEFAULT_SERVER_SETTINGS: SyncServerSettings = {
  serverName: "",
  maxConnections: 10_000,
  handshakeTimeoutMs: 10_000,
  writeTimeoutMs: 120_000,
  pingIntervalMs: 10_000,
  pongTimeoutMs: 60_000,
  maxFallBehindMs: 300_000,
  newClientGraceMs: 300_000,
  maxBacklogBytes: 64 * 1024 * 1024,
  inSyncWaitMs: 10_000,
  staleAfterMs: 120_000,
  shutdownTimeoutMs: 300_000,
  shutdownMaxGapMs: 1000,
};

/**
 * How often the sessions are looked over for what is due. An eighth of the shortest time that counts, so that nothing
 * is more than that late; at most once in 10 ms and at least once a second.
 */
export function sweepIntervalMs(settings: SyncServerSettings): number {
  const shortest = Math.min(
    settings.handshakeTimeoutMs,
    settings.writeTimeoutMs,
    settings.pingIntervalMs,
    settings.pongTimeoutMs,
    settings.maxFallBehindMs,
  );
  return Math.min(1000, Math.max(10, shortest / 8));
}
