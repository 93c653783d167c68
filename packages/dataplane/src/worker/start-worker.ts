import type { DataplaneEvents, DataplaneHandle, DataplaneWorkerOptions } from "../handle.ts";

/**
 * Starts the dataplane in a worker thread of its own, in the network namespace of the process.
 * Resolves when the worker runs; rejects when its sockets cannot be opened.
 */
export function startDataplaneWorker(
  options: DataplaneWorkerOptions,
  events: DataplaneEvents,
): Promise<DataplaneHandle> {
  void options;
  void events;
  return Promise.reject(new Error("Not built yet"));
}
