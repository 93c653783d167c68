import { Worker } from "node:worker_threads";
import { messageOf } from "@bulrush/base";
import type { FromWorker, ToWorker, WorkerInit } from "./messages.ts";

interface ThreadEvents {
  onMessage(message: FromWorker): void;
  /** It has ended, and why; with the error that ended it, if any did. Once, last. */
  onEnd(reason: string, error?: unknown): void;
}

/** A running worker. */
export interface WorkerThread {
  /** In order. Nothing happens once it has ended. */
  post(message: ToWorker): void;
  /** Ends it at once, whatever it does; `onEnd` follows. */
  terminate(): void;
}

export type StartThread = (init: WorkerInit, events: ThreadEvents) => WorkerThread;

/** Starts a worker in a thread of its own. */
export const startThread: StartThread = (init, events) => {
  // The extension is that of this file: .ts in a checkout, .js in a build.
  const entry = import.meta.url.endsWith(".ts") ? "./connection-worker.ts" : "./connection-worker.js";
  const worker = new Worker(new URL(entry, import.meta.url), {
    workerData: init,
    name: `connections ${init.number}`,
  });
  let failure: unknown;
  worker.on("message", (message: FromWorker) => events.onMessage(message));
  worker.on("messageerror", (error) => {
    failure ??= error;
    void worker.terminate();
  });
  worker.on("error", (error) => (failure ??= error));
  worker.on("exit", (code) => events.onEnd(failure === undefined ? `exit code ${code}` : messageOf(failure), failure));
  return {
    post: (message) => worker.postMessage(message),
    terminate: () => void worker.terminate(),
  };
};
