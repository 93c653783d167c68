import { CodedError } from "@bulrush/base";
import type { Ping, ServerMessage, Welcome } from "@bulrush/proto";
import type { SyncClientCounts, SyncClientOptions, SyncClientState } from "./options.ts";

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Counted elsewhere, and put in when the state is read. */
type Supplied = Pick<SyncClientCounts, "deliveredUpdates" | "suppressedUpdates" | "madeUpDeletes"> &
  Pick<SyncClientState, "serverSequence">;

/** What the client says about itself. */
export class StateKeeper {
  readonly #options: Pick<SyncClientOptions, "clock" | "onStateChange">;
  readonly #counts: Mutable<Omit<SyncClientCounts, keyof Supplied>> = {
    connects: 0,
    snapshots: 0,
    resumes: 0,
    failures: 0,
    receivedKVs: 0,
    badKeys: 0,
  };
  #state: Omit<SyncClientState, "counts" | "serverSequence"> = {
    phase: "stopped",
    server: undefined,
    serverName: undefined,
    status: "wait-for-ready",
    upstreamAgeMs: undefined,
    lastMessageAtMs: undefined,
    lastError: undefined,
  };
  readonly #supply: () => Supplied;

  constructor(options: Pick<SyncClientOptions, "clock" | "onStateChange">, supply: () => Supplied) {
    this.#options = options;
    this.#supply = supply;
  }

  read(): SyncClientState {
    const { serverSequence, ...counts } = this.#supply();
    return { ...this.#state, serverSequence, counts: { ...this.#counts, ...counts } };
  }

  set(change: Partial<Pick<SyncClientState, "phase" | "server" | "serverName" | "status">>): void {
    const before = this.#state.phase;
    this.#state = { ...this.#state, ...change };
    if (this.#state.phase !== before) this.#options.onStateChange?.(this.read());
  }

  welcomed(welcome: Welcome): void {
    this.#counts.connects++;
    if (welcome.resume === "deltas") this.#counts.resumes++;
    else this.#counts.snapshots++;
    this.set({
      phase: welcome.resume === "deltas" ? "streaming" : "snapshot",
      serverName: welcome.serverName,
    });
  }

  received(message: ServerMessage): void {
    this.#state = { ...this.#state, lastMessageAtMs: this.#options.clock.nowMs() };
    if (message.type === "snapshot" || message.type === "delta") this.#counts.receivedKVs += message.kvs.length;
  }

  pinged(ping: Ping): void {
    this.#state = { ...this.#state, upstreamAgeMs: ping.upstreamAgeMs };
  }

  failed(error: Error): void {
    this.#counts.failures++;
    this.#state = {
      ...this.#state,
      lastError: {
        code: error instanceof CodedError ? error.code : error.name,
        message: error.message,
        atMs: this.#options.clock.nowMs(),
      },
    };
  }

  countBadKey(): void {
    this.#counts.badKeys++;
  }
}
