import type { Address } from "./address.ts";
import { type Cidr, cidrOf, containsCidr, maskCidr } from "./cidr.ts";

interface Node<V> {
  readonly cidr: Cidr;
  value: V | undefined;
  present: boolean;
  zero: Node<V> | undefined;
  one: Node<V> | undefined;
}

function bitAt(words: readonly number[], index: number): number {
  return ((words[index >>> 5] ?? 0) >>> (31 - (index & 31))) & 1;
}

function commonPrefixLength(a: Cidr, b: Cidr): number {
  const limit = Math.min(a.prefixLength, b.prefixLength);
  for (let i = 0; i < a.words.length; i++) {
    const difference = ((a.words[i] ?? 0) ^ (b.words[i] ?? 0)) >>> 0;
    if (difference !== 0) return Math.min(limit, i * 32 + Math.clz32(difference));
  }
  return limit;
}

/**
 * A path-compressed binary trie of networks of one family, with a value each.
 *
 * Invariant: a node's children lie inside its network; a node without a value has two children (the root aside).
 * Keys are masked on the way in.
 */
export class CidrTrie<V> {
  #root: Node<V> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Sets the value of a network, replacing an old one. */
  set(key: Cidr, value: V): void {
    const cidr = maskCidr(key);
    this.#root = this.#insert(this.#root, cidr, value);
  }

  #insert(node: Node<V> | undefined, cidr: Cidr, value: V): Node<V> {
    if (node === undefined) {
      this.#size++;
      return { cidr, value, present: true, zero: undefined, one: undefined };
    }
    const common = commonPrefixLength(node.cidr, cidr);
    if (common === node.cidr.prefixLength && common === cidr.prefixLength) {
      if (!node.present) this.#size++;
      node.value = value;
      node.present = true;
      return node;
    }
    if (common === node.cidr.prefixLength) {
      if (bitAt(cidr.words, common) === 0) node.zero = this.#insert(node.zero, cidr, value);
      else node.one = this.#insert(node.one, cidr, value);
      return node;
    }
    const isParent = common === cidr.prefixLength;
    const parent: Node<V> = {
      cidr: isParent ? cidr : maskCidr({ ...cidr, prefixLength: common }),
      value: isParent ? value : undefined,
      present: isParent,
      zero: undefined,
      one: undefined,
    };
    if (isParent) this.#size++;
    if (bitAt(node.cidr.words, common) === 0) parent.zero = node;
    else parent.one = node;
    if (!isParent) {
      const leaf = this.#insert(undefined, cidr, value);
      if (bitAt(cidr.words, common) === 0) parent.zero = leaf;
      else parent.one = leaf;
    }
    return parent;
  }

  /** Removes a network. True when it was there. */
  delete(key: Cidr): boolean {
    const before = this.#size;
    this.#root = this.#remove(this.#root, maskCidr(key));
    return this.#size < before;
  }

  #remove(node: Node<V> | undefined, cidr: Cidr): Node<V> | undefined {
    if (node === undefined || !containsCidr(node.cidr, cidr)) return node;
    if (node.cidr.prefixLength === cidr.prefixLength) {
      if (!node.present) return node;
      this.#size--;
      node.present = false;
      node.value = undefined;
    } else if (bitAt(cidr.words, node.cidr.prefixLength) === 0) node.zero = this.#remove(node.zero, cidr);
    else node.one = this.#remove(node.one, cidr);
    if (node.present || (node.zero !== undefined && node.one !== undefined)) return node;
    return node.zero ?? node.one;
  }

  /** The value of exactly this network. */
  get(key: Cidr): V | undefined {
    const cidr = maskCidr(key);
    let node = this.#root;
    while (node !== undefined && containsCidr(node.cidr, cidr)) {
      if (node.cidr.prefixLength === cidr.prefixLength) return node.value;
      node = bitAt(cidr.words, node.cidr.prefixLength) === 0 ? node.zero : node.one;
    }
    return undefined;
  }

  /** Networks that contain `key` (itself too when present), widest first. */
  *ancestors(key: Cidr): Generator<readonly [Cidr, V]> {
    const cidr = maskCidr(key);
    let node = this.#root;
    while (node !== undefined && containsCidr(node.cidr, cidr)) {
      if (node.present) yield [node.cidr, node.value as V];
      if (node.cidr.prefixLength === cidr.prefixLength) return;
      node = bitAt(cidr.words, node.cidr.prefixLength) === 0 ? node.zero : node.one;
    }
  }

  /** The most specific network that contains the address. */
  lookup(address: Address): readonly [Cidr, V] | undefined {
    let best: readonly [Cidr, V] | undefined;
    for (const entry of this.ancestors(cidrOf(address))) best = entry;
    return best;
  }

  /** Networks inside `key` (itself too when present), each before those inside it, in order of address. */
  *descendants(key: Cidr): Generator<readonly [Cidr, V]> {
    const cidr = maskCidr(key);
    let node = this.#root;
    while (node !== undefined && !containsCidr(cidr, node.cidr)) {
      if (!containsCidr(node.cidr, cidr)) return;
      node = bitAt(cidr.words, node.cidr.prefixLength) === 0 ? node.zero : node.one;
    }
    yield* walk(node);
  }

  /** The outermost networks strictly inside `key`: none of them contains another. */
  *topmostDescendants(key: Cidr): Generator<readonly [Cidr, V]> {
    let last: Cidr | undefined;
    for (const entry of this.descendants(key)) {
      if (entry[0].prefixLength === key.prefixLength) continue;
      if (last !== undefined && containsCidr(last, entry[0])) continue;
      last = entry[0];
      yield entry;
    }
  }

  *entries(): Generator<readonly [Cidr, V]> {
    yield* walk(this.#root);
  }
}

function* walk<V>(node: Node<V> | undefined): Generator<readonly [Cidr, V]> {
  if (node === undefined) return;
  if (node.present) yield [node.cidr, node.value as V];
  yield* walk(node.zero);
  yield* walk(node.one);
}
