import type { Gauge, Logger } from "@bulrush/service";
import type { BalancedStream } from "../limit/balancer.ts";
import { ClientRegistry } from "../server/client-registry.ts";
import type { JoinedStream, ToWorker } from "./messages.ts";

/** A stream of one of the workers. */
interface WorkerStream extends JoinedStream {
  readonly worker: number;
  readonly post: (message: ToWorker) => void;
  isLeaving: boolean;
}

/**
 * The streams of all workers. Each worker knows only its own: what one node name or one client has on several of them is
 * seen here.
 *
 * Invariant: `#streams` and `#registry` hold the same streams.
 */
export class WorkerClients {
  readonly #registry = new ClientRegistry<WorkerStream>();
  readonly #streams = new Map<string, WorkerStream>();
  readonly #logger: Logger;
  readonly #duplicates: Gauge;

  constructor(logger: Logger, duplicates: Gauge) {
    this.#logger = logger;
    this.#duplicates = duplicates;
  }

  get count(): number {
    return this.#registry.count;
  }

  /** Those that may be handed over. */
  balanced(): readonly BalancedStream[] {
    return [...this.#streams.values()].flatMap((stream) => {
      if (stream.isLeaving) return [];
      return {
        clientId: stream.hello.clientId,
        type: stream.hello.syncer,
        connectedAtMs: stream.connectedAtMs,
        goodbye: (reason: string, peers: readonly string[]) => {
          stream.isLeaving = true;
          stream.post({ type: "handOver", connectionId: stream.connectionId, reason, peers });
        },
      };
    });
  }

  isDuplicate(connectionId: string): boolean {
    const stream = this.#streams.get(connectionId);
    return stream !== undefined && this.#registry.isDuplicate(stream);
  }

  /** `worker`: its number. */
  add(worker: number, joined: JoinedStream, post: (message: ToWorker) => void): void {
    const stream: WorkerStream = { ...joined, worker, post, isLeaving: false };
    this.#streams.set(joined.connectionId, stream);
    const { duplicates, superseded } = this.#registry.add(stream);
    // Those of one worker it sees, and ends, itself.
    for (const other of superseded.filter((old) => old.worker !== worker)) {
      // Messages of two workers come in any order: the one that connected first is the old one.
      const old = other.connectedAtMs <= stream.connectedAtMs ? other : stream;
      old.post({ type: "superseded", connectionId: old.connectionId });
    }
    const others = duplicates.filter((other) => other.worker !== worker);
    if (others.length > 0) {
      const { hostname, syncer, info } = stream.hello;
      this.#logger.warn("Two clients use one node name", {
        peer: stream.peer,
        connection: stream.connectionId,
        hostname,
        syncer,
        info,
        otherPeers: others.slice(0, 8).map(({ peer }) => peer),
      });
    }
    this.#duplicates.set(this.#registry.duplicateNames);
  }

  remove(connectionId: string): void {
    const stream = this.#streams.get(connectionId);
    if (stream === undefined) return;
    this.#streams.delete(connectionId);
    this.#registry.remove(stream);
    this.#duplicates.set(this.#registry.duplicateNames);
  }

  /** The worker has ended, and with it its connections. */
  removeAll(worker: number): void {
    for (const [connectionId, stream] of this.#streams) if (stream.worker === worker) this.remove(connectionId);
  }
}
