import { Backoff, type Clock } from "@bulrush/base";
import { SyncClientError } from "./errors.ts";
import { parseServerAddress, type ServerAddress } from "./server-address.ts";
import { type Pick, ServerPicker } from "./server-picker.ts";

/** Between two dials of one round over the known servers. */
const NEXT_SERVER_DELAY_MS = 100;
/** Part of a round's tries; a round has at least three. */
const TRIES_PER_SERVER = 2;
const MIN_SERVERS = 3;
/** What a server may ask for at most. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;

export interface ServerChoiceOptions {
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly nodeName?: string | undefined;
  /** First and longest delay once all known servers failed. */
  readonly backoffInitialMs: number;
  readonly backoffMaxMs: number;
  /** The servers that are listed at the moment. */
  readonly known: () => readonly ServerAddress[];
}

/**
 * Which server is dialled next, and how long after a failure: what servers asked for is heeded, all are tried one soon
 * after the other, and after a round of failures ever more slowly.
 *
 * Invariant: `#failuresInRow` counts since the last stream that lived.
 */
export class ServerChoice {
  readonly #options: ServerChoiceOptions;
  readonly #picker: ServerPicker;
  readonly #backoff: Backoff;
  #failuresInRow = 0;

  constructor(options: ServerChoiceOptions) {
    const { random, nodeName, backoffInitialMs, backoffMaxMs } = options;
    this.#options = options;
    this.#picker = new ServerPicker({ random, nodeName });
    this.#backoff = new Backoff({ initialMs: backoffInitialMs, maxMs: backoffMaxMs }, random);
  }

  /** `except`: servers that are in use. */
  next(except: readonly ServerAddress[] = []): Pick {
    return this.#picker.next(this.#options.known(), this.#options.clock.monotonicMs(), except);
  }

  /** A stream of this server has lived: every other one may be tried again. */
  succeeded(address: ServerAddress): void {
    this.#picker.succeeded(address, this.#options.clock.monotonicMs());
  }

  /** What the server asked for: to be left alone for a while, and where to go. */
  heed(address: ServerAddress, error: Error): void {
    const nowMs = this.#options.clock.monotonicMs();
    const { retryAfterMs, peers } = wordsOf(error);
    if (retryAfterMs > 0) this.#picker.pause(address, nowMs + retryAfterMs, nowMs);
    if (peers.length > 0) this.#picker.hint(peers);
  }

  /** The delay before the next dial after this failure. `wasStable`: the stream had lived before it was lost. */
  delayAfter(address: ServerAddress, error: Error, wasStable: boolean): number {
    const { clock, random, known } = this.#options;
    if (wasStable) {
      this.#backoff.reset();
      this.#failuresInRow = 0;
      this.succeeded(address);
    } else this.#failuresInRow++;
    this.heed(address, error);
    const triesInRound = TRIES_PER_SERVER * Math.max(MIN_SERVERS, known().length);
    if (this.#picker.hasUntried(known(), clock.monotonicMs()) && this.#failuresInRow < triesInRound)
      return NEXT_SERVER_DELAY_MS * (0.5 + random() / 2);
    return this.#backoff.nextMs();
  }

  /** The delay where no server is known. */
  delayWithoutServers(): number {
    return this.#backoff.nextMs();
  }
}

function wordsOf(error: Error): { readonly retryAfterMs: number; readonly peers: readonly ServerAddress[] } {
  if (!(error instanceof SyncClientError)) return { retryAfterMs: 0, peers: [] };
  const { retryAfterMs, peers } = error.data;
  return {
    retryAfterMs: typeof retryAfterMs === "number" ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) : 0,
    peers: Array.isArray(peers) ? peers.flatMap(parsePeer) : [],
  };
}

function parsePeer(text: unknown): ServerAddress[] {
  try {
    return [parseServerAddress(String(text))];
  } catch {
    // A peer that cannot be read is no reason to leave the others.
    return [];
  }
}
