import { Backoff, type CancelTimer, type Clock } from "@bulrush/base";
import type { TunnelAddressResult } from "@bulrush/datastore";
import type { Update } from "@bulrush/model";
import { hashValue } from "@bulrush/proto";
import type { Logger, Metrics } from "@bulrush/service";
import type { FelixConfig } from "../config/felix-config.ts";

export interface TunnelAddressesOptions {
  readonly hostname: string;
  readonly clock: Clock;
  /** Numbers in [0, 1), for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Takes up settings; true when they may ask for other addresses. Default: they never do. */
  readonly onSettings?: (now: FelixConfig) => boolean;
  /** Gives this host the addresses that the pools ask for. May be called again at any time; rejects where it cannot. */
  readonly reconcile: () => Promise<readonly TunnelAddressResult[]>;
}

/** Changes that come together are one reason. */
const SETTLE_MS = 1000;
/** About as often they are compared though nothing was told: streams do not carry what only IPAM reads, such as a pool's nodeSelector. */
const RECHECK_MS = 300_000;
const RETRY = { initialMs: 2000, maxMs: 60_000 } as const;

/**
 * Keeps the addresses of this host's tunnel devices as the pools ask for: at the first in-sync, and whenever a pool, or this
 * host's Node or its WireGuard keys, change; every five minutes without a reason.
 *
 * ```
 *  idle --relevant change--> settling (1 s) --> reconciling --done--> idle, or settling if something changed meanwhile
 *                               ^                    |
 *                               +-- 2 s to 60 s -----+ failed
 * ```
 *
 * Invariant: at most one timer and one reconciliation are there at a time.
 */
export class TunnelAddresses {
  readonly #options: TunnelAddressesOptions;
  readonly #backoff: Backoff;
  /** Hash of what is relevant, by path: an update that says the same is no reason. */
  readonly #known = new Map<string, string>();
  readonly #failures: { inc(): void };
  readonly #runs: { inc(): void };
  #isInSync = false;
  #cancel: CancelTimer | undefined;
  /** The timer is that of the next comparison without a reason; any reason takes its place. */
  #isRecheck = false;
  #isRunning = false;
  #again = false;
  #stopped = false;

  constructor(options: TunnelAddressesOptions) {
    this.#options = options;
    this.#backoff = new Backoff(RETRY, options.random);
    const { metrics } = options;
    this.#runs = metrics.counter({
      name: "bulrush_tunnel_address_runs_total",
      help: "Times that the tunnel addresses of this host were compared with the pools",
    });
    this.#failures = metrics.counter({
      name: "bulrush_tunnel_address_failures_total",
      help: "Times that this could not be done, and is tried again",
    });
  }

  onUpdates(updates: readonly Update[]): void {
    let isReason = false;
    for (const update of updates) if (this.#isRelevant(update)) isReason = this.#learn(update) || isReason;
    if (isReason && this.#isInSync) this.#settle(SETTLE_MS);
  }

  onSettings(now: FelixConfig): void {
    if (this.#options.onSettings?.(now) === true && this.#isInSync) this.#settle(SETTLE_MS);
  }

  /** Everything was seen once. */
  onInSync(): void {
    if (this.#isInSync) return;
    this.#isInSync = true;
    this.#settle(0);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #isRelevant({ key }: Update): boolean {
    const { hostname } = this.#options;
    switch (key.type) {
      case "IPPool":
        return true;
      case "Wireguard":
        return key.hostname === hostname;
      case "Resource":
        return key.kind === "Node" && key.name === hostname;
      default:
        return false;
    }
  }

  #learn({ key, path, value, revision }: Update): boolean {
    // A pool that was written anew may differ in what its v1 form leaves out; a Node is written all the time.
    const written = key.type === "IPPool" ? revision : "";
    const hash = value === undefined ? undefined : `${hashValue(path, value)} ${written}`;
    if (this.#known.get(path) === hash) return false;
    if (hash === undefined) this.#known.delete(path);
    else this.#known.set(path, hash);
    return true;
  }

  #settle(delayMs: number): void {
    if (this.#stopped) return;
    if (this.#isRunning) {
      this.#again = true;
      return;
    }
    if (this.#isRecheck) this.#clear();
    this.#cancel ??= this.#options.clock.after(delayMs, () => {
      this.#clear();
      void this.#run();
    });
  }

  #clear(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#isRecheck = false;
  }

  async #run(): Promise<void> {
    const { hostname, logger, reconcile } = this.#options;
    this.#isRunning = true;
    this.#again = false;
    this.#runs.inc();
    let retryMs: number | undefined;
    try {
      const results = await reconcile();
      for (const { after, before, kind } of results)
        if (after !== before) logger.info("Tunnel address", { kind, before, after });
      this.#backoff.reset();
    } catch (error) {
      retryMs = this.#backoff.nextMs();
      this.#failures.inc();
      logger.warn("Cannot give this host its tunnel addresses, will try again", { hostname, retryMs, error });
    }
    this.#isRunning = false;
    if (retryMs !== undefined) this.#settle(retryMs);
    else if (this.#again) this.#settle(SETTLE_MS);
    else {
      // Not all hosts at once.
      this.#settle(RECHECK_MS * (0.75 + this.#options.random() / 2));
      this.#isRecheck = true;
    }
  }
}
