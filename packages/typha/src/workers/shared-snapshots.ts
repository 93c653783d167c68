import type { Snapshot } from "../cache/snapshot.ts";
import type { SharedSnapshot } from "./messages.ts";

/** Bytes copied in one turn of the event loop: about a millisecond. */
const COPIED_PER_TURN = 4 * 1024 * 1024;

/** Snapshots in memory that other threads see, copied once for all of them; kept as long as the snapshot itself. */
export class SharedSnapshots {
  readonly #copies = new WeakMap<Snapshot, Promise<SharedSnapshot>>();
  readonly #yieldTurn: () => Promise<void>;
  #nextId = 1;

  constructor(yieldTurn: () => Promise<void>) {
    this.#yieldTurn = yieldTurn;
  }

  /** Rejects for all who wait for it where there is no memory. */
  share(snapshot: Snapshot): Promise<SharedSnapshot> {
    let copy = this.#copies.get(snapshot);
    if (copy === undefined) {
      copy = this.#copy(snapshot, this.#nextId++);
      this.#copies.set(snapshot, copy);
      // The next who asks tries again.
      copy.catch(() => this.#copies.delete(snapshot));
    }
    return copy;
  }

  async #copy({ crumb, pieces, bytes, count, isPart }: Snapshot, id: number): Promise<SharedSnapshot> {
    const memory = new SharedArrayBuffer(bytes);
    const all = Buffer.from(memory);
    const ends: number[] = [];
    let at = 0;
    let turnFrom = 0;
    for (const piece of pieces) {
      piece.copy(all, at);
      at += piece.length;
      ends.push(at);
      if (at - turnFrom < COPIED_PER_TURN) continue;
      turnFrom = at;
      await this.#yieldTurn();
    }
    return { id, sequence: crumb.sequence, memory, ends, count, isPart };
  }
}
