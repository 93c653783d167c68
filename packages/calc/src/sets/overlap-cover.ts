import { assert } from "@bulrush/base";
import { type Cidr, CidrTrie, parseCidr } from "@bulrush/ip";

/**
 * The members of one set of networks, so arranged that those under a broader one can be told. The kernel refuses
 * intervals that overlap, and the broader member says it all.
 *
 * Invariant: the tries hold every member of the set.
 */
export class OverlapCover {
  readonly #trie4 = new CidrTrie<string>();
  readonly #trie6 = new CidrTrie<string>();

  /** Enters a member without asking who covers whom: for filling. */
  fill(member: string): void {
    const cidr = read(member);
    this.#trie(cidr).set(cidr, member);
  }

  /** Enters a member. Returns whether it is visible, and hides (by `hide`) the visible ones that it now covers. */
  add(member: string, hide: (member: string) => void): boolean {
    const cidr = read(member);
    const trie = this.#trie(cidr);
    const covered = this.#isCovered(trie, cidr);
    if (!covered) for (const [, inner] of trie.topmostDescendants(cidr)) hide(inner);
    trie.set(cidr, member);
    return !covered;
  }

  /** Takes a member out. Returns whether it was visible, and shows (by `show`) those that only it covered. */
  remove(member: string, show: (member: string) => void): boolean {
    const cidr = read(member);
    const trie = this.#trie(cidr);
    trie.delete(cidr);
    if (this.#isCovered(trie, cidr)) return false;
    for (const [, inner] of trie.topmostDescendants(cidr)) show(inner);
    return true;
  }

  /** Whether the member is outside all others. */
  isVisible(member: string): boolean {
    const cidr = read(member);
    return !this.#isCovered(this.#trie(cidr), cidr);
  }

  #isCovered(trie: CidrTrie<string>, cidr: Cidr): boolean {
    for (const [outer] of trie.ancestors(cidr)) return outer.prefixLength < cidr.prefixLength;
    return false;
  }

  #trie(cidr: Cidr): CidrTrie<string> {
    return cidr.family === 4 ? this.#trie4 : this.#trie6;
  }
}

function read(member: string): Cidr {
  const cidr = parseCidr(member);
  assert(cidr !== undefined, () => `IP set member ${member} is not a network`);
  return cidr;
}
