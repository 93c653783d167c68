import { readKV, type Update, type Value } from "@bulrush/model";
import type { BufferedUpdate, DedupeBuffer } from "./dedupe-buffer.ts";
import type { SyncClientCallbacks } from "./options.ts";

const MAX_BATCH = 100;
/** Batches in a row before timers and sockets get their turn. */
const BATCHES_PER_TURN = 10;

export interface DeliveryOptions {
  readonly buffer: DedupeBuffer;
  readonly callbacks: SyncClientCallbacks;
  /** A path that is no key of ours. The KV is skipped. */
  onBadKey(path: string): void;
  /** After each step. */
  onProgress(): void;
}

/**
 * Empties the buffer into the callbacks, one call at a time.
 *
 * Invariant: at most one `#run` is under way.
 */
export class Delivery {
  readonly #options: DeliveryOptions;
  #isRunning = false;
  #lastRun: Promise<void> = Promise.resolve();
  #isStopped = false;
  deliveredUpdates = 0;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** There may be something to hand over. */
  kick(): void {
    if (this.#isRunning || this.#isStopped) return;
    this.#isRunning = true;
    this.#lastRun = this.#run();
    // A callback that throws is a bug of the owner: the process ends, as with any other.
    this.#lastRun.catch((error: unknown) => {
      queueMicrotask(() => {
        throw error;
      });
    });
  }

  /** Resolves when the last callback has returned. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#lastRun.catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { buffer, callbacks } = this.#options;
    let batches = 0;
    while (!this.#isStopped) {
      const step = buffer.take(MAX_BATCH);
      if (step === undefined) {
        // Before anything is awaited: a kick in this same turn must start a new run.
        this.#isRunning = false;
        return;
      }
      if (step.type === "updates") {
        const updates = step.updates.map((update) => this.#toUpdate(update)).filter((update) => update !== undefined);
        this.deliveredUpdates += updates.length;
        if (updates.length > 0) await callbacks.onUpdates(updates);
      } else {
        if (step.status !== undefined) await callbacks.onStatusUpdated(step.status);
        if (step.mark !== undefined) await callbacks.onSequence?.(step.mark);
      }
      this.#options.onProgress();
      if (++batches % BATCHES_PER_TURN === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  #toUpdate({ path, value, revision, type }: BufferedUpdate): Update | undefined {
    const read = readKV(path, value);
    if (read === undefined) {
      this.#options.onBadKey(path);
      return undefined;
    }
    return { key: read.key, path: read.path, value: read.value as Value | undefined, revision, type };
  }
}
