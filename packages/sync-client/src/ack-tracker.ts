/** Marks that may wait for an ack; older ones are forgotten, and a later ack covers them. */
const MAX_WAITING = 1024;

/**
 * Turns the client's own marks into sequences of the server that they came from. A mark of another epoch says nothing
 * to the present server: it is forgotten.
 *
 * Invariant: `#waiting` is in growing order of both numbers, and all of it belongs to `#epoch`.
 */
export class AckTracker {
  #epoch: string | undefined;
  #nextMark = 1;
  #waiting: { readonly mark: number; readonly sequence: number }[] = [];
  #applied: number | undefined;

  /** The last sequence of the present epoch that is known to be applied. */
  get applied(): number | undefined {
    return this.#applied;
  }

  /** The stream that follows is of this epoch. */
  startEpoch(epoch: string): void {
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#waiting = [];
    this.#applied = undefined;
  }

  /** The mark for a sequence of the present epoch. */
  mark(sequence: number): number {
    const mark = this.#nextMark++;
    if (this.#waiting.length >= MAX_WAITING) this.#waiting.splice(0, MAX_WAITING / 2);
    this.#waiting.push({ mark, sequence });
    return mark;
  }

  /** Everything up to `mark` is applied. Returns whether that is news. */
  ack(mark: number): boolean {
    const covered = this.#waiting.findLastIndex((waiting) => waiting.mark <= mark);
    const sequence = this.#waiting[covered]?.sequence;
    if (sequence === undefined) return false;
    this.#waiting.splice(0, covered + 1);
    if (sequence === this.#applied) return false;
    this.#applied = sequence;
    return true;
  }
}
