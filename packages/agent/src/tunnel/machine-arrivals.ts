import { Backoff, type Clock, messageOf, sleep } from "@bulrush/base";
import type { FromDataplane } from "@bulrush/dataplane";
import type { Logger } from "@bulrush/service";

/** Tries for each address: the first, and four more. */
const MAX_TRIES = 5;
const PAUSE = { initialMs: 1000, maxMs: 30_000 } as const;

/** Workloads of others have no addresses in IPAM by pods. */
const KUBERNETES = "k8s";

export interface MachineArrivalsOptions {
  readonly clock: Clock;
  /** Numbers in [0, 1), for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  /** Makes the pod the owner of the address; true when that had to be done. Rejects where it cannot. */
  readonly takeOver: (address: string, pod: { readonly namespace: string; readonly name: string }) => Promise<boolean>;
}

/**
 * Tells IPAM, for each address of a virtual machine that has moved to this host, that its pod here is the owner now: other
 * hosts send by that. One address after the other, each tried five times.
 */
export class MachineArrivals {
  readonly #options: MachineArrivalsOptions;
  readonly #abort = new AbortController();

  constructor(options: MachineArrivalsOptions) {
    this.#options = options;
  }

  onDataplane(message: FromDataplane): void {
    if (message.msg !== "LiveMigrationArrival" || message.id.orchestrator !== KUBERNETES) return;
    const slash = message.id.workload.indexOf("/");
    const pod = {
      namespace: message.id.workload.slice(0, Math.max(slash, 0)),
      name: message.id.workload.slice(slash + 1),
    };
    void this.#takeAll(message.addresses, pod);
  }

  stop(): void {
    this.#abort.abort();
  }

  async #takeAll(addresses: readonly string[], pod: { namespace: string; name: string }): Promise<void> {
    for (const address of addresses) await this.#take(address, pod);
  }

  async #take(address: string, pod: { namespace: string; name: string }): Promise<void> {
    const { clock, logger, random, takeOver } = this.#options;
    const backoff = new Backoff(PAUSE, random);
    for (let tries = 1; !this.#abort.signal.aborted; tries++) {
      try {
        if (await takeOver(address, pod))
          logger.info("A machine has moved here: its address has a new owner", { address, ...pod });
        return;
      } catch (error) {
        const end = tries < MAX_TRIES ? "" : `; gave up after ${MAX_TRIES} tries, other hosts may send to its old host`;
        logger.warn(`Make the pod of a machine that moved here the owner of its address: ${messageOf(error)}${end}`, {
          address,
          ...pod,
        });
        if (tries >= MAX_TRIES) return;
      }
      await sleep(clock, backoff.nextMs(), this.#abort.signal).catch(() => undefined);
    }
  }
}
