import type { Update } from "@bulrush/model";
import { hashValue } from "@bulrush/proto";
import { type SyncClient, tlsFromParameters } from "@bulrush/sync-client";
import type { TlsFiles } from "./certificates.ts";
import { contentsOf } from "./contents.ts";
import { createFelixClient } from "./felix-client.ts";

/** What Typha itself writes into a datastore that nobody has initialised. */
const TYPHAS_OWN: ReadonlySet<string> = new Set([
  "/calico/v1/config/ClusterGUID",
  "/calico/v1/config/ClusterType",
  "/calico/v1/config/CalicoVersion",
]);

export interface FollowerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles;
  readonly serverCN: string;
}

function contentsHash(path: string, value: unknown): string {
  return hashValue(path, contentsOf(value));
}

/**
 * Follows Typha's `felix` stream as one more client, to know when Typha has what a directory says and at which of its
 * sequences. From there the agents' acks tell when every kernel has it. What only the store can know ({@link contentsOf})
 * does not count.
 *
 * Invariant: `#hashes` holds the stream's present KVs, a hash each.
 */
export class Follower {
  readonly #client: SyncClient;
  readonly #hashes = new Map<string, string>();
  #isInSync = false;
  #waiters: (() => void)[] = [];

  constructor(options: FollowerOptions) {
    const tls = tlsFromParameters({
      caFile: options.tls.ca,
      certFile: options.tls.cert,
      keyFile: options.tls.key,
      serverCN: options.serverCN,
    });
    this.#client = createFelixClient({
      servers: [{ host: options.host, port: options.port }],
      ...(tls === undefined ? {} : { tls }),
      callbacks: {
        onUpdates: (updates) => {
          for (const { path, value } of updates) {
            if (value === undefined) this.#hashes.delete(path);
            else this.#hashes.set(path, contentsHash(path, value));
          }
        },
        onStatusUpdated: (status) => {
          this.#isInSync = status === "in-sync";
          this.#wake();
        },
        onSequence: (sequence) => {
          this.#client.ack(sequence);
          this.#wake();
        },
      },
    });
    this.#client.start();
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }

  /**
   * Resolves once Typha holds exactly these KVs, with a sequence of Typha's that is not before that state. Rejects
   * with the first differences after `timeoutMs`.
   */
  async reaches(updates: readonly Update[], timeoutMs: number): Promise<number> {
    const wanted = new Map(updates.map(({ path, value }) => [path, contentsHash(path, value)]));
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const differences = this.#differences(wanted);
      const sequence = this.#client.state().serverSequence;
      if (this.#isInSync && differences.length === 0 && sequence !== undefined) return sequence;
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) {
        const { phase, lastError } = this.#client.state();
        const why = differences.length > 0 ? differences.slice(0, 5).join(", ") : `stream is ${phase}`;
        throw new Error(`Typha did not reach the manifests: ${why} (${lastError?.message ?? "no connection error"})`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(leftMs, 250));
        this.#waiters.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  #differences(wanted: ReadonlyMap<string, string>): string[] {
    const out: string[] = [];
    for (const [path, hash] of wanted) {
      const have = this.#hashes.get(path);
      if (have !== hash) out.push(`${have === undefined ? "missing" : "other value at"} ${path}`);
    }
    for (const path of this.#hashes.keys())
      if (!wanted.has(path) && !TYPHAS_OWN.has(path)) out.push(`left over ${path}`);
    return out;
  }

  /** The host that it follows now: one that hands its clients over names another. */
  get host(): string | undefined {
    return this.#client.state().server?.host;
  }

  stop(): Promise<void> {
    return this.#client.stop();
  }
}
