import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemClock } from "@bulrush/base";
import { openDatastore } from "@bulrush/datastore";
import { createMetrics, HealthAggregator, silentLogger } from "@bulrush/service";
import { createSyncClient } from "@bulrush/sync-client";
import { createTypha, loadTyphaConfig, RANDOM_PORT } from "@bulrush/typha";

/** For tests: a Typha in this process, on a directory, without TLS. */
export interface RunningTypha {
  readonly directory: string;
  readonly addr: string;
  readonly admin: string;
  /** Writes a manifest into the directory. */
  write(name: string, text: string): void;
  /** A client of the felix stream that says that all is in force; not if it `isDeaf`. */
  join(hostname: string, isDeaf?: boolean): void;
}

/** `files`: what is in the directory from the start, text by name. */
export async function runTypha(t: TestContext, files: Readonly<Record<string, string>> = {}): Promise<RunningTypha> {
  const directory = mkdtempSync(join(tmpdir(), "ctl-typha-"));
  const write = (name: string, text: string): void => writeFileSync(join(directory, name), text);
  for (const [name, text] of Object.entries(files)) write(name, text);
  const clock = systemClock({ keepAlive: true });
  const { values } = loadTyphaConfig({ env: { TYPHA_SHUTDOWNTIMEOUTSECS: "0.1" } });
  const config = { ...values, ServerHost: "127.0.0.1", ServerPort: RANDOM_PORT, AdminPort: RANDOM_PORT };
  const typha = createTypha(config, {
    clock,
    random: Math.random,
    newEpoch: () => "epoch",
    logger: silentLogger,
    metrics: createMetrics(),
    health: new HealthAggregator(clock),
    openDatastore: () =>
      openDatastore({ type: "file", directory, debounceMs: 1, rescanIntervalMs: 50 }, { clock, logger: silentLogger }),
    serverName: "typha-1",
  });
  const stops: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const stop of stops) await stop();
    await typha.stop();
    rmSync(directory, { recursive: true });
  });
  typha.start();
  const { port } = await typha.listening;
  const admin = await typha.adminListening;
  return {
    directory,
    addr: `127.0.0.1:${port}`,
    admin: `http://localhost:${admin?.port ?? 0}`,
    write,
    join(hostname, isDeaf = false) {
      const client = createSyncClient({
        servers: [{ host: "127.0.0.1", port }],
        hostname,
        info: "agent/1",
        syncer: "felix",
        clock,
        random: Math.random,
        callbacks: {
          onUpdates: () => {},
          onStatusUpdated: () => {},
          onSequence: (sequence) => {
            if (!isDeaf) client.ack(sequence);
          },
        },
      });
      stops.push(() => client.stop());
      client.start();
    },
  };
}

export function policyManifest(name: string, order: number): string {
  return JSON.stringify({
    apiVersion: "projectcalico.org/v3",
    kind: "GlobalNetworkPolicy",
    metadata: { name },
    spec: { order, selector: "all()", types: ["Ingress"], ingress: [{ action: "Allow" }] },
  });
}
