import { Backoff, type CancelTimer, type Clock } from "@bulrush/base";
import type { FromDataplane } from "@bulrush/dataplane";
import type { Logger } from "@bulrush/service";

export interface WireguardKeysOptions {
  readonly clock: Clock;
  /** Numbers in [0, 1), for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  /** Writes the key ("" for none) to this host's Node; true when that had to be done. Rejects where it cannot. */
  readonly publish: (family: 4 | 6, publicKey: string) => Promise<boolean>;
}

const RETRY = { initialMs: 2000, maxMs: 60_000 } as const;

/**
 * Tells the datastore the public keys of this host's WireGuard devices, as the dataplane tells them: each family by itself,
 * the newest key only, again until it is done.
 *
 * Invariant: `#wanted` holds the keys that are not yet written; at most one write and one timer are there at a time.
 */
export class WireguardKeys {
  readonly #options: WireguardKeysOptions;
  readonly #backoff: Backoff;
  readonly #wanted = new Map<4 | 6, string>();
  #isRunning = false;
  #cancel: CancelTimer | undefined;
  #stopped = false;

  constructor(options: WireguardKeysOptions) {
    this.#options = options;
    this.#backoff = new Backoff(RETRY, options.random);
  }

  onDataplane(message: FromDataplane): void {
    if (message.msg !== "WireguardStatusUpdate" || this.#stopped) return;
    this.#wanted.set(message.ip_version, message.public_key);
    void this.#run();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#cancel?.();
    this.#cancel = undefined;
    const { clock, logger, publish } = this.#options;
    let isFailed = false;
    for (const [family, publicKey] of this.#wanted) {
      try {
        const isWritten = await publish(family, publicKey);
        // Another one may have come meanwhile.
        if (this.#wanted.get(family) === publicKey) this.#wanted.delete(family);
        if (isWritten) logger.info("WireGuard key", { family, publicKey });
      } catch (error) {
        isFailed = true;
        logger.warn("Tell the datastore the WireGuard key", { family, error });
      }
    }
    this.#isRunning = false;
    if (!isFailed) this.#backoff.reset();
    if (this.#stopped || this.#wanted.size === 0) return;
    if (isFailed) this.#cancel = clock.after(this.#backoff.nextMs(), () => void this.#run());
    else void this.#run();
  }
}
