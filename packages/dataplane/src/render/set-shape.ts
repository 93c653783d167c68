/**
 * How the members of one IP set lie in the kernel, in one family.
 *
 * Single addresses go to a hash set and networks to an interval set: a commit that changes an interval set costs time in
 * proportion to the set (5 ms at 100k elements), one that changes a hash set does not (30 us). So a set of networks and
 * addresses is two kernel sets, and "is in it" means "is in either". A part without members is left out, as long as one
 * remains; the shape depends on the members of the moment alone (between two batches, on leftovers too), so that a restart
 * finds what it would make.
 */
interface SetShape {
  /** Sets to look the address (or address, protocol, port) up in: one, or two. Never none. */
  readonly names: readonly string[];
}

/** Finds the shape of a set by its id. The sender guarantees that it has sent the set. */
export type SetLookup = (id: string) => SetShape;
