import { systemClock } from "@bulrush/base";
import type { Value } from "@bulrush/model";
import { createSyncer, openDatastore } from "../src/index.ts";
import { cpuMs } from "./cpu.ts";

/*
 * node list-load.ts PORT paged|streamed: the felix syncer on the Kubernetes driver, from start to in-sync. Keeps every
 * value, as a server of snapshots does. Prints {"cpuMs","wallMs","peakMB","values"}.
 */

const [port = "", lists = ""] = process.argv.slice(2);
const clock = systemClock();
const driver = await openDatastore(
  {
    type: "kubernetes",
    server: `https://127.0.0.1:${port}`,
    insecureSkipTlsVerify: true,
    listMode: lists === "paged" ? "paged" : "auto",
  },
  { clock },
);
const values = new Map<string, Value>();
const startedMs = performance.now();
const before = cpuMs();
await new Promise<void>((resolve) => {
  const syncer = createSyncer("felix", {
    driver,
    clock,
    callbacks: {
      onStatusUpdated(status) {
        if (status === "in-sync") resolve();
      },
      onUpdates(updates) {
        for (const { path, value } of updates) if (value !== undefined) values.set(path, value);
      },
    },
  });
  syncer.start();
});
const figures = {
  cpuMs: cpuMs() - before,
  wallMs: performance.now() - startedMs,
  // The kernel's own figure, in KiB.
  peakMB: process.resourceUsage().maxRSS / 1024,
  values: values.size,
};
console.log(JSON.stringify(figures));
process.exit(0);
