import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@bulrush/base";
import { buildConsole } from "@bulrush/console";
import { openDatastore } from "@bulrush/datastore";
import { createMetrics, HealthAggregator, silentLogger } from "@bulrush/service";
import { createSyncClient } from "@bulrush/sync-client";
import { createTypha, loadTyphaConfig, RANDOM_PORT } from "@bulrush/typha";

const SAMPLE = join(import.meta.dirname, "..", "..", "demo");

/** A Typha on the sample cluster, with the console and some clients. */
export interface ConsoleWorld {
  /** Of the console. */
  readonly url: string;
  /** The manifests, which are its own. */
  readonly directory: string;
  stop(): Promise<void>;
}

export async function startConsoleWorld(clients: number): Promise<ConsoleWorld> {
  const workDir = mkdtempSync(join(tmpdir(), "bulrush-console-"));
  const directory = join(workDir, "manifests");
  cpSync(SAMPLE, directory, { recursive: true });
  const site = join(workDir, "site");
  await buildConsole(site);
  const clock = systemClock({ keepAlive: true });
  const { values } = loadTyphaConfig({ env: { TYPHA_SHUTDOWNTIMEOUTSECS: "0.1", TYPHA_CONSOLEDIR: site } });
  const health = new HealthAggregator(clock);
  const typha = createTypha(
    { ...values, ServerHost: "127.0.0.1", ServerPort: RANDOM_PORT, AdminPort: RANDOM_PORT },
    {
      clock,
      random: Math.random,
      newEpoch: () => crypto.randomUUID(),
      logger: silentLogger,
      metrics: createMetrics(),
      health,
      openDatastore: () =>
        openDatastore(
          { type: "file", directory, debounceMs: 1, rescanIntervalMs: 1000 },
          { clock, logger: silentLogger },
        ),
      serverName: "typha-1",
    },
  );
  typha.start();
  const { port } = await typha.listening;
  const admin = await typha.adminListening;
  const syncClients = Array.from({ length: clients }, (_, i) => {
    const client = createSyncClient({
      servers: [{ host: "127.0.0.1", port }],
      hostname: `node-${String(i + 1).padStart(4, "0")}`,
      info: "bulrush-agent 0.1.0",
      syncer: "felix",
      clock,
      random: Math.random,
      callbacks: {
        onUpdates: () => {},
        onStatusUpdated: () => {},
        onSequence: (sequence) => client.ack(sequence),
      },
    });
    client.start();
    return client;
  });
  return {
    url: `http://localhost:${admin?.port ?? 0}/`,
    directory,
    async stop() {
      await Promise.all(syncClients.map((client) => client.stop()));
      await typha.stop();
      rmSync(workDir, { recursive: true });
    },
  };
}
