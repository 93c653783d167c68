import type { Clock } from "@bulrush/base";
import type { Update } from "@bulrush/model";
import { BucketDigests, hashValue } from "@bulrush/proto";
import { createSyncClient, type SyncClient, type TLSMaterial } from "@bulrush/sync-client";
import type { LoadPlan } from "./load-plan.ts";
import type { JudgedFigures } from "./load-record.ts";

export interface JudgedClientOptions {
  readonly name: string;
  readonly plan: LoadPlan;
  readonly tls: TLSMaterial | undefined;
  readonly clock: Clock;
  readonly random: () => number;
}

/**
 * A client as an agent has it, and what the agent would have been told.
 *
 * Invariant: `#hashes` has each key that was told and not deleted, and `#digest` is their sum; `#gone` has the keys that
 * were deleted, with the contents that they had.
 */
export class JudgedClient {
  readonly #client: SyncClient;
  readonly #hashes = new Map<string, string>();
  readonly #gone = new Map<string, string>();
  readonly #digest = new BucketDigests(1);
  #updates = 0;
  #deletes = 0;
  #flaps = 0;
  #isInSync = false;

  constructor(options: JudgedClientOptions) {
    const { name, plan, tls, clock, random } = options;
    this.#client = createSyncClient({
      servers: () => Promise.resolve(plan.servers),
      ...(tls !== undefined && { tls }),
      hostname: name,
      info: "bulrush-sync-load",
      syncer: plan.syncer,
      ...(plan.dialTimeoutMs !== undefined && { dialTimeoutMs: plan.dialTimeoutMs }),
      clock,
      random,
      callbacks: {
        onUpdates: (updates) => this.#onUpdates(updates),
        onStatusUpdated: (status) => {
          this.#isInSync = status === "in-sync";
        },
        onSequence: (sequence) => this.#client.ack(sequence),
      },
    });
  }

  start(): void {
    this.#client.start();
  }

  stop(): Promise<void> {
    return this.#client.stop();
  }

  get isInSync(): boolean {
    return this.#isInSync;
  }

  figures(): JudgedFigures {
    const { phase, counts } = this.#client.state();
    const { connects, snapshots, bucketResumes, resumes, moves, failures } = counts;
    return {
      clients: 1,
      inSync: this.#isInSync && phase === "streaming" ? 1 : 0,
      states: { [this.#digest.encode()]: 1 },
      keys: this.#hashes.size,
      updates: this.#updates,
      deletes: this.#deletes,
      flaps: this.#flaps,
      connects,
      snapshots,
      bucketResumes,
      resumes,
      moves,
      failures,
    };
  }

  #onUpdates(updates: readonly Update[]): void {
    this.#updates += updates.length;
    for (const { path, value } of updates) {
      const old = this.#hashes.get(path);
      if (old !== undefined) this.#digest.remove(path, old);
      if (value === undefined) {
        this.#deletes++;
        this.#hashes.delete(path);
        if (old !== undefined) this.#gone.set(path, old);
        continue;
      }
      const hash = hashValue(path, value);
      if (this.#gone.get(path) === hash) this.#flaps++;
      this.#gone.delete(path);
      this.#hashes.set(path, hash);
      this.#digest.add(path, hash);
    }
  }
}

/** Nobody. */
export const NO_JUDGED: JudgedFigures = {
  clients: 0,
  inSync: 0,
  states: {},
  keys: 0,
  updates: 0,
  deletes: 0,
  flaps: 0,
  connects: 0,
  snapshots: 0,
  bucketResumes: 0,
  resumes: 0,
  moves: 0,
  failures: 0,
};

export function addJudged(a: JudgedFigures, b: JudgedFigures): JudgedFigures {
  return {
    clients: a.clients + b.clients,
    inSync: a.inSync + b.inSync,
    states: addCounts(a.states, b.states),
    keys: Math.max(a.keys, b.keys),
    updates: a.updates + b.updates,
    deletes: a.deletes + b.deletes,
    flaps: a.flaps + b.flaps,
    connects: a.connects + b.connects,
    snapshots: a.snapshots + b.snapshots,
    bucketResumes: a.bucketResumes + b.bucketResumes,
    resumes: a.resumes + b.resumes,
    moves: a.moves + b.moves,
    failures: a.failures + b.failures,
  };
}

/** Adds up counts by name. */
export function addCounts(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): Record<string, number> {
  const sum: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}
