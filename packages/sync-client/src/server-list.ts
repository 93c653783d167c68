import { type CancelTimer, type Clock, messageOf, sleep } from "@bulrush/base";
import { SyncClientError } from "./errors.ts";
import type { ServerAddress } from "./server-address.ts";
import { type Servers, type ServerSource, toServerSource } from "./server-source.ts";

/** Once other servers are known, whoever waits goes on within this time: not all clients at once. */
const NEWS_MS = 1000;

export interface ServerListOptions {
  readonly servers: Servers;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly onError: (error: SyncClientError) => void;
}

/** The servers to choose from, as they were listed last, and waiting for others. */
export class ServerList {
  readonly #options: ServerListOptions;
  readonly #source: ServerSource;
  #known: readonly ServerAddress[] = [];
  #onNews: (() => void) | undefined;

  constructor(options: ServerListOptions) {
    this.#options = options;
    this.#source = toServerSource(options.servers);
  }

  get known(): readonly ServerAddress[] {
    return this.#known;
  }

  /** Begins to hear of changes. Returns how to end that. */
  follow(): () => void {
    return this.#source.follow?.(() => this.#onNews?.()) ?? (() => undefined);
  }

  /** Lists anew. If that fails, the last list is better than none. */
  async refresh(): Promise<void> {
    try {
      this.#known = await this.#source.list();
    } catch (cause) {
      const message = `Cannot list servers: ${messageOf(cause)}`;
      this.#options.onError(new SyncClientError("SYNC_CLIENT_DISCOVERY", message, { cause }));
    }
  }

  /** Not longer than a moment once other servers are known. Ends at the signal too. */
  async wait(delayMs: number): Promise<void> {
    const { clock, random, signal } = this.#options;
    const news = new AbortController();
    let cancelNews: CancelTimer | undefined;
    this.#onNews = () => {
      this.#onNews = undefined;
      cancelNews = clock.after(NEWS_MS * random(), () => news.abort(new Error("Other servers are known")));
    };
    await sleep(clock, delayMs, AbortSignal.any([signal, news.signal])).catch(() => undefined);
    this.#onNews = undefined;
    cancelNews?.();
  }
}
