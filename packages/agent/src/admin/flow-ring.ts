import type { FlowBatch, FlowRecord } from "@bulrush/dataplane";

const MAX_RECORDS = 1000;

/** One line of the stream of flows: a flow, or the number of packets that nobody was told of. */
export type FlowLine = FlowRecord | { readonly lost: number };

/** The last 1,000 flows that were denied or logged on this host, and who follows them. */
export class FlowRing {
  readonly #records: FlowRecord[] = [];
  readonly #followers = new Set<(lines: readonly FlowLine[]) => void>();

  add({ flows, lost }: FlowBatch): void {
    this.#records.push(...flows);
    this.#records.splice(0, Math.max(0, this.#records.length - MAX_RECORDS));
    const lines: FlowLine[] = lost > 0 ? [...flows, { lost }] : [...flows];
    for (const follower of this.#followers) follower(lines);
  }

  /** Oldest first. */
  recent(): readonly FlowRecord[] {
    return [...this.#records];
  }

  /** Calls back for each batch from now on, until the returned function is called. */
  follow(follower: (lines: readonly FlowLine[]) => void): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }
}
