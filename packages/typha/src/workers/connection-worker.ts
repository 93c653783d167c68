import { parentPort, workerData } from "node:worker_threads";
import { must, systemClock } from "@bulrush/base";
import { createMetrics } from "@bulrush/service";
import type { FromWorker, ToWorker, WorkerInit } from "./messages.ts";
import { ServingWorker } from "./serving-worker.ts";

/** The thread of a connection worker. It ends by itself once it is closed; an error that nobody catches ends it too. */
const port = must(parentPort, "the port of the thread that started this one");
let lastUtilization = performance.eventLoopUtilization();

function utilization(): number {
  const now = performance.eventLoopUtilization();
  const { utilization: share } = performance.eventLoopUtilization(now, lastUtilization);
  lastUtilization = now;
  return share;
}

const worker = new ServingWorker({
  init: workerData as WorkerInit,
  post: (message: FromWorker) => port.postMessage(message),
  clock: systemClock({ keepAlive: true }),
  random: Math.random,
  defer: (callback) => void setImmediate(callback),
  metrics: createMetrics(),
  utilization,
  onClosed: () => port.close(),
});
port.on("message", (message: ToWorker) => worker.onMessage(message));
