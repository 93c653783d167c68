import { type Clock, messageOf, sleep } from "@bulrush/base";
import {
  CLUSTER_INFORMATION_ID,
  datastoreCodeOf,
  type DatastoreWriter,
  ensureInitialized,
  findLegacyData,
  legacyDataError,
} from "@bulrush/datastore";
import type { Logger } from "@bulrush/service";

export interface DatastoreStartOptions {
  /** InitialiseDatastore; "" counts as `auto`. */
  readonly mode: "auto" | "always" | "never" | "";
  readonly writer: DatastoreWriter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly newGuid: () => string;
  /** Called with each change of what keeps the datastore from being used, in words; undefined: nothing does. */
  readonly onProblem: (problem: string | undefined) => void;
}

const RETRY_MS = 1000;
const ATTEMPT_MS = 30_000;
/** Between two looks whether somebody else has initialised the datastore. */
const LOOK_MS = 5000;
const CREATE_HINT = 'create it with "bulrushctl initialise"';

/**
 * What comes before the first list: is this a datastore of ours, and is it initialised?
 *
 *     v1 data? ──yes──> unready, again every second ──┐
 *       │ no      <────────────────────────────────────┘
 *       ├ always: ensureInitialized, again every second until it works ──> `mayServe`
 *       ├ auto:   ensureInitialized once (not being allowed to is fine) ─┐
 *       └ never: ────────────────────────────────────────────────────────┴> `mayServe`, and while there is no
 *                                                     ClusterInformation: unready, and a look every five seconds
 *
 * A directory needs none of it: what everybody relies on exists there without a file. Only `always` writes it.
 */
export class DatastoreStart {
  readonly #options: DatastoreStartOptions;
  #problem: string | undefined;

  constructor(options: DatastoreStartOptions) {
    this.#options = options;
  }

  /** Resolves when the datastore may be served. Rejects only by the signal. */
  async mayServe(signal: AbortSignal): Promise<void> {
    const { mode, writer } = this.#options;
    await this.#untilItWorks(signal, "The datastore cannot be asked whether it holds v1 data", async (limit) => {
      const legacy = await findLegacyData(writer, limit);
      if (legacy !== undefined) throw legacyDataError(legacy);
    });
    if (mode === "always")
      await this.#untilItWorks(signal, "The datastore cannot be initialised", (limit) => this.#initialise(limit));
  }

  /** The rest, beside the serving. Resolves when it is over; never rejects. */
  async follow(signal: AbortSignal): Promise<void> {
    const { mode, writer, clock, logger } = this.#options;
    if (mode === "always" || writer.type === "file") return;
    try {
      if (mode !== "never") {
        await this.#bounded(signal, (limit) => this.#initialise(limit)).catch((error: unknown) => {
          signal.throwIfAborted();
          const isRefused = datastoreCodeOf(error) === "DATASTORE_UNAUTHORIZED";
          logger[isRefused ? "info" : "warn"]("The datastore was not initialised", { error });
        });
      }
      for (;;) {
        const problem = await this.#bounded(signal, (limit) => this.#missing(limit));
        signal.throwIfAborted();
        this.#report(problem);
        if (problem === undefined) return;
        await sleep(clock, LOOK_MS, signal);
      }
    } catch (error) {
      if (!signal.aborted) logger.error("Cannot look whether the datastore is initialised", { error });
    }
  }

  /** Why there is nothing to serve; undefined where it cannot be asked, which the lists say themselves. */
  async #missing(signal: AbortSignal): Promise<string | undefined> {
    try {
      if ((await this.#options.writer.get(CLUSTER_INFORMATION_ID, signal)) !== undefined) return undefined;
    } catch (error) {
      if (datastoreCodeOf(error) !== "DATASTORE_NOT_FOUND") return undefined;
      return `The datastore is not initialised: it does not know ClusterInformation (${messageOf(error)}); install the CRDs (DATASTORE_NOT_INITIALISED)`;
    }
    return `The datastore is not initialised: there is no ClusterInformation "default"; ${CREATE_HINT}, or let this process create it (DATASTORE_NOT_INITIALISED)`;
  }

  #initialise(signal: AbortSignal): Promise<void> {
    const { writer, clock, newGuid } = this.#options;
    return ensureInitialized(writer, { version: "", clusterType: "typha", clock, signal, newGuid });
  }

  async #untilItWorks(signal: AbortSignal, what: string, work: (limit: AbortSignal) => Promise<void>): Promise<void> {
    const { clock, logger } = this.#options;
    for (;;) {
      try {
        await this.#bounded(signal, work);
        this.#report(undefined);
        return;
      } catch (error) {
        signal.throwIfAborted();
        const code = datastoreCodeOf(error);
        const isPlain = code === "DATASTORE_LEGACY_DATA";
        const problem = isPlain ? `${messageOf(error)} (${code})` : `${what}: ${messageOf(error)} (${code})`;
        // The same every second is said once.
        if (problem !== this.#problem) logger.error("Not serving this datastore, trying again", { problem });
        this.#report(problem);
        await sleep(clock, RETRY_MS, signal);
      }
    }
  }

  async #bounded<T>(signal: AbortSignal, work: (limit: AbortSignal) => Promise<T>): Promise<T> {
    const limit = new AbortController();
    const cancel = this.#options.clock.after(ATTEMPT_MS, () => limit.abort(new Error("No answer within 30 s")));
    try {
      return await work(AbortSignal.any([signal, limit.signal]));
    } finally {
      cancel();
    }
  }

  #report(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.onProblem(problem);
  }
}
