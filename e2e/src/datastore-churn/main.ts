/**
 * The process of the syncers that `npm run e2e -- datastore-churn` judges: it starts this program itself, and nobody
 * else has a use for it. Settings are its one argument, the rest are messages ({@link FromSyncers}, {@link ToSyncers}).
 * Run with --expose-gc, so that what it says of its memory is what it holds.
 */
import { assert, seededRandom, systemClock } from "@bulrush/base";
import { createSyncer, openDatastore } from "@bulrush/datastore";
import { CALICO_V3 } from "@bulrush/model";
import { hashValue } from "@bulrush/proto";
import { contentsOf } from "../lab/contents.ts";
import type { FromSyncers, SyncerSettings, ToSyncers, TransportedUpdate } from "./messages.ts";
import { markIn } from "./objects.ts";

const settings = JSON.parse(process.argv[2] ?? "") as SyncerSettings;
const clock = systemClock({ keepAlive: true });
const random = seededRandom(settings.seed);

/** Resolves when the message is on its way: the syncers are held up by a parent that does not read. */
function tell(message: FromSyncers): Promise<void> {
  return new Promise((resolve) => {
    assert(process.send !== undefined, "This program is started by the scenario datastore-churn");
    process.send(message, undefined, undefined, () => resolve());
  });
}

const drivers = await Promise.all(
  settings.drivers.map(({ listMode }) =>
    openDatastore(
      {
        type: "kubernetes",
        kubeconfig: [settings.kubeconfig],
        server: settings.server,
        apiGroup: CALICO_V3,
        qps: 200,
        watchIdleTimeoutMs: settings.watchIdleTimeoutMs,
        listMode,
      },
      { clock, random },
    ),
  ),
);
const syncers = settings.syncers.map(({ type, driver: index }, syncer) => {
  const driver = drivers[index];
  assert(driver !== undefined, `There is no driver ${index}`);
  return createSyncer(type, {
    driver,
    clock,
    callbacks: {
      onStatusUpdated: (status) => tell({ type: "status", syncer, status }),
      onUpdates: (updates) => {
        const told = updates.map(({ path, type: of, value }): TransportedUpdate => {
          if (value === undefined) return [path, of];
          const contents = contentsOf(value);
          const hash = Buffer.from(hashValue(path, contents), "latin1").toString("hex");
          return [path, of, hash, markIn(JSON.stringify(contents, mapsAsObjects))];
        });
        return tell({ type: "updates", syncer, updates: told });
      },
    },
  });
});

function mapsAsObjects(_name: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}

process.on("message", (message: ToSyncers) => {
  switch (message.type) {
    case "memory": {
      assert(globalThis.gc !== undefined, "Run with --expose-gc");
      // A finaliser may free what only the second one finds.
      globalThis.gc();
      globalThis.gc();
      const { heapUsed, external, rss } = process.memoryUsage();
      void tell({ type: "memory", memory: { heapBytes: heapUsed + external, rssBytes: rss } });
      return;
    }
    case "report": {
      const reports = syncers.map((syncer) =>
        syncer
          .report()
          .filter(({ reason }) => reason !== undefined)
          .map(({ kind, status, reason }) => `${kind} ${status}: ${reason}`),
      );
      void tell({ type: "report", reports });
      return;
    }
    case "stop":
      void Promise.all(syncers.map((syncer) => syncer.stop()))
        .then(() => Promise.all(drivers.map((driver) => driver.close())))
        .then(() => process.disconnect());
  }
});
// Nobody is left to tell.
process.on("disconnect", () => process.exit(0));
for (const syncer of syncers) syncer.start();
