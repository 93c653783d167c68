import { CodedError } from "@bulrush/base";
import type { Ping, ServerMessage, Welcome } from "@bulrush/proto";
import type { ServerAddress } from "./server-address.ts";
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
    bucketResumes: 0,
    resumes: 0,
    moves: 0,
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
    staleSinceMs: undefined,
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

  welcomed(server: ServerAddress, { resume, serverName, staleSinceMs }: Welcome, isMove: boolean): void {
    this.#counts.connects++;
    if (isMove) this.#counts.moves++;
    if (resume === "deltas") this.#counts.resumes++;
    else if (resume === "buckets") this.#counts.bucketResumes++;
    else this.#counts.snapshots++;
    this.#state = { ...this.#state, staleSinceMs, upstreamAgeMs: undefined };
    this.set({ phase: resume === "deltas" ? "streaming" : "snapshot", server, serverName });
  }

  received(message: ServerMessage): void {
    this.#state = { ...this.#state, lastMessageAtMs: this.#options.clock.nowMs() };
    if (message.type === "snapshot" || message.type === "delta") this.#counts.receivedKVs += message.kvs.length;
  }

  pinged(ping: Ping): void {
    this.#state = { ...this.#state, upstreamAgeMs: ping.upstreamAgeMs, staleSinceMs: ping.staleSinceMs };
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
