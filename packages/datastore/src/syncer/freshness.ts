import type { Clock } from "@bulrush/base";
import type { DatastoreDriver } from "../driver/driver.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import { datastoreCodeOf } from "../errors.ts";
import { PROBE_AFTER_MS, PROBE_TIMEOUT_MS } from "./timing.ts";

/**
 * When a server last answered about a kind. After a while without an answer it asks: a quiet kind is not a dead
 * server.
 */
export class Freshness {
  readonly #clock: Clock;
  readonly #driver: DatastoreDriver;
  readonly #kind: DatastoreKind;
  #lastAnswerMs: number | undefined;
  #cancel: (() => void) | undefined;
  #probe: AbortController | undefined;
  #isStopped = false;

  constructor(clock: Clock, driver: DatastoreDriver, kind: DatastoreKind) {
    this.#clock = clock;
    this.#driver = driver;
    this.#kind = kind;
  }

  /** Milliseconds since the last answer; undefined before the first. */
  ageMs(): number | undefined {
    return this.#lastAnswerMs === undefined ? undefined : this.#clock.monotonicMs() - this.#lastAnswerMs;
  }

  /** The server has answered, just now. */
  answered(): void {
    this.#lastAnswerMs = this.#clock.monotonicMs();
    if (this.#cancel === undefined && this.#probe === undefined) this.#schedule(PROBE_AFTER_MS);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
    this.#probe?.abort(new Error("Stopped"));
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#cancel = undefined;
      const quietMs = this.ageMs() ?? 0;
      if (quietMs < PROBE_AFTER_MS) this.#schedule(PROBE_AFTER_MS - quietMs);
      else void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    const probe = new AbortController();
    this.#probe = probe;
    const cancel = this.#clock.after(PROBE_TIMEOUT_MS, () => probe.abort(new Error("No answer in time")));
    let hasAnswer = true;
    try {
      await this.#driver.probe(this.#kind, probe.signal);
    } catch (error) {
      hasAnswer = datastoreCodeOf(error) === "DATASTORE_NOT_FOUND";
    }
    cancel();
    this.#probe = undefined;
    if (hasAnswer) this.#lastAnswerMs = this.#clock.monotonicMs();
    this.#schedule(hasAnswer ? PROBE_AFTER_MS : PROBE_TIMEOUT_MS);
  }
}
