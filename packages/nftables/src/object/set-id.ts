/** Gives the sets of one batch their ids, by which its other messages name them before the kernel has. */
export class SetIds {
  #last = 0;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}
