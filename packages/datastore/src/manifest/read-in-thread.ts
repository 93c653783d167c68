import { Worker } from "node:worker_threads";
import { type Clock, messageOf } from "@bulrush/base";
import type { ParsedManifest } from "./parse.ts";
import { failed } from "./read-file.ts";

/** What the thread is told. */
export interface ReadRequest {
  readonly absolute: string;
  /** What positions name the file. */
  readonly file: string;
  readonly maxBytes: number;
}

export interface ThreadBounds {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly maxHeapMiB: number;
  /** Ends the reading; what comes back then is of no use. */
  readonly signal: AbortSignal;
}

/**
 * Reads a manifest as `readManifestFile` does, in a thread of its own: YAML takes a second a megabyte, and some of it a
 * hundred times as long, while sockets and timers wait. Bounded in time and memory. Never rejects.
 */
export function readInThread(request: ReadRequest, bounds: ThreadBounds): Promise<ParsedManifest> {
  const { clock, timeoutMs, maxHeapMiB, signal } = bounds;
  const { file } = request;
  // The extension is that of this file: .ts in a checkout, .js in a build.
  const entry = import.meta.url.endsWith(".ts") ? "./manifest-worker.ts" : "./manifest-worker.js";
  const worker = new Worker(new URL(entry, import.meta.url), {
    workerData: request,
    name: "manifest",
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
  });
  return new Promise((resolve) => {
    const finish = (parsed: ParsedManifest): void => {
      cancel();
      signal.removeEventListener("abort", abandon);
      void worker.terminate();
      resolve(parsed);
    };
    const abandon = (): void => finish(failed(file, "The reading was given up"));
    const cancel = clock.after(timeoutMs, () => finish(failed(file, `Cannot be read within ${timeoutMs} ms`)));
    signal.addEventListener("abort", abandon);
    if (signal.aborted) abandon();
    worker.once("message", (parsed: ParsedManifest) => finish(parsed));
    worker.once("error", (error) => finish(failed(file, `Cannot read the file: ${messageOf(error)}`)));
    worker.once("exit", () => finish(failed(file, "Cannot read the file: the reading ended early")));
  });
}
