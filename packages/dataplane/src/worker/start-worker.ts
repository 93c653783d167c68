import { Worker } from "node:worker_threads";
import { unreachable } from "@bulrush/base";
import type { ToDataplane } from "@bulrush/proto";
import { DataplaneError } from "../errors.ts";
import type { DriftReport } from "../drift/drift-report.ts";
import { notReady } from "../drift/inspect-kernel.ts";
import type { DataplaneEvents, InspectableDataplane, DataplaneWorkerOptions } from "../handle.ts";
import type { FromWorker, ToWorker, WorkerData } from "./protocol.ts";

/**
 * Starts the dataplane in a worker thread of its own, in the network namespace of the process.
 * Resolves when the worker runs; rejects with `DATAPLANE_WORKER` when it cannot start (its sockets cannot be opened).
 */
export function startDataplaneWorker(
  options: DataplaneWorkerOptions,
  events: DataplaneEvents,
): Promise<InspectableDataplane> {
  // The extension is that of this file: .ts in a checkout, .js in a build.
  const entry = new URL(
    import.meta.url.endsWith(".ts") ? "./dataplane-worker.ts" : "./dataplane-worker.js",
    import.meta.url,
  );
  const worker = new Worker(entry, {
    workerData: { options } satisfies WorkerData,
    name: "dataplane",
    // Sockets are opened and closed by number, past the bookkeeping of fs.
    trackUnmanagedFds: false,
  });
  return new Promise((resolve, reject) => {
    const handle = new WorkerHandle(worker, events, () => resolve(handle), reject);
  });
}

/**
 * The main thread's end. Invariant: `#waiting` holds the batches that the worker has not taken yet, `#questions` what it has not answered; all of it is settled
 * when the worker ends, however it ends.
 */
class WorkerHandle implements InspectableDataplane {
  readonly #worker: Worker;
  readonly #events: DataplaneEvents;
  readonly #waiting = new Map<number, () => void>();
  readonly #questions = new Map<number, (report: DriftReport) => void>();
  readonly #ended: Promise<void>;
  #nextBatch = 0;
  #nextQuestion = 0;
  #isOver = false;

  constructor(worker: Worker, events: DataplaneEvents, onStarted: () => void, onFailed: (error: Error) => void) {
    this.#worker = worker;
    this.#events = events;
    let started = false;
    worker.on("message", (message: FromWorker) => {
      if (message.kind === "started") {
        started = true;
        onStarted();
      } else this.#onMessage(message);
    });
    worker.on("error", (cause) => {
      const error = workerError(cause instanceof Error ? cause.message : String(cause), cause);
      if (started) this.#fail(error);
      else onFailed(error);
    });
    this.#ended = new Promise((resolve) => {
      worker.on("exit", (code) => {
        if (!started) onFailed(workerError(`exit code ${code}`));
        this.#fail(workerError(`exit code ${code}`));
        resolve();
      });
    });
  }

  send(messages: readonly ToDataplane[]): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    const batch = this.#nextBatch++;
    return new Promise((taken) => {
      this.#waiting.set(batch, taken);
      this.#post({ kind: "send", batch, messages });
    });
  }

  mark(sequence: number): void {
    this.#post({ kind: "mark", sequence });
  }

  resync(): void {
    this.#post({ kind: "resync" });
  }

  inspect(): Promise<DriftReport> {
    if (this.#isOver) return Promise.resolve(notReady());
    const question = this.#nextQuestion++;
    return new Promise((report) => {
      this.#questions.set(question, report);
      this.#post({ kind: "inspect", question });
    });
  }

  async stop(): Promise<void> {
    this.#post({ kind: "stop" });
    await this.#ended;
  }

  #post(message: ToWorker): void {
    if (!this.#isOver) this.#worker.postMessage(message);
  }

  #onMessage(message: FromWorker): void {
    switch (message.kind) {
      case "started":
        return;
      case "taken":
        this.#waiting.get(message.batch)?.();
        this.#waiting.delete(message.batch);
        return;
      case "status":
        this.#events.onStatus?.(message.status);
        return;
      case "applied":
        this.#events.onApplied?.(message.sequence);
        return;
      case "message":
        this.#events.onMessage?.(message.message);
        return;
      case "flows":
        this.#events.onFlows?.(message.batch);
        return;
      case "log":
        this.#events.onLog?.(message.level, message.message, message.fields);
        return;
      case "report":
        this.#questions.get(message.question)?.(message.report);
        this.#questions.delete(message.question);
        return;
      case "fatal":
        this.#fail(workerError(message.message, undefined, message.code));
        return;
      case "stopped":
        this.#over();
        return;
      default:
        unreachable(message);
    }
  }

  #fail(error: DataplaneError): void {
    if (this.#isOver) return;
    this.#over();
    this.#events.onFatal?.(error);
  }

  #over(): void {
    this.#isOver = true;
    for (const taken of this.#waiting.values()) taken();
    this.#waiting.clear();
    for (const report of this.#questions.values()) report(notReady());
    this.#questions.clear();
  }
}

function workerError(what: string, cause?: unknown, code?: string): DataplaneError {
  return new DataplaneError(`Run the dataplane: ${what}`, {
    code: "DATAPLANE_WORKER",
    op: "Run the dataplane",
    cause,
    ...(code === undefined ? {} : { data: { code } }),
  });
}
