import { compareStrings } from "@bulrush/base";
import { type Address, type Cidr, CidrTrie, cidrOf, maskCidr, parseAddress, parseCidr } from "@bulrush/ip";
import type { NetworkSet } from "@bulrush/model";

/** A network set by the name of its key: `name`, or `namespace/name`. */
export interface FoundNetworkSet {
  readonly name: string;
  readonly value: NetworkSet;
}

/**
 * From an address to the network set that speaks of it best: one of the namespace that is preferred, else a global one,
 * else one of another namespace; of those the one with the longest prefix; of those the first by name.
 *
 * Invariant: the tries hold for each network the sets that have it, and no network without a set.
 */
export class NetworkSetLookup {
  readonly #sets = new Map<string, { readonly set: FoundNetworkSet; readonly nets: readonly Cidr[] }>();
  readonly #tries = {
    4: new CidrTrie<Map<string, FoundNetworkSet>>(),
    6: new CidrTrie<Map<string, FoundNetworkSet>>(),
  };

  get count(): number {
    return this.#sets.size;
  }

  set(name: string, value: NetworkSet | undefined): void {
    for (const net of this.#sets.get(name)?.nets ?? []) {
      const trie = this.#tries[net.family];
      const here = trie.get(net);
      here?.delete(name);
      if (here?.size === 0) trie.delete(net);
    }
    this.#sets.delete(name);
    if (value === undefined) return;
    const set: FoundNetworkSet = { name, value };
    const nets = (value.nets ?? []).map(readNet).filter((net) => net !== undefined);
    this.#sets.set(name, { set, nets });
    for (const net of nets) {
      const trie = this.#tries[net.family];
      const here = trie.get(net) ?? new Map<string, FoundNetworkSet>();
      here.set(name, set);
      trie.set(net, here);
    }
  }

  find(address: Address, preferredNamespace = ""): FoundNetworkSet | undefined {
    let best: { readonly set: FoundNetworkSet; readonly rank: number; readonly length: number } | undefined;
    for (const [net, here] of this.#tries[address.family].ancestors(cidrOf(address)))
      for (const set of here.values()) {
        const found = { set, rank: rankOf(set.name, preferredNamespace), length: net.prefixLength };
        if (best === undefined || isBetter(found, best)) best = found;
      }
    return best?.set;
  }
}

interface Candidate {
  readonly set: FoundNetworkSet;
  readonly rank: number;
  readonly length: number;
}

function isBetter(a: Candidate, b: Candidate): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank;
  if (a.length !== b.length) return a.length > b.length;
  return compareStrings(a.set.name, b.set.name) < 0;
}

function rankOf(name: string, preferredNamespace: string): number {
  const slash = name.indexOf("/");
  if (slash < 0) return 1;
  return preferredNamespace !== "" && name.slice(0, slash) === preferredNamespace ? 0 : 2;
}

function readNet(text: string): Cidr | undefined {
  const address = parseAddress(text);
  if (address !== undefined) return cidrOf(address);
  const cidr = parseCidr(text);
  return cidr && maskCidr(cidr);
}
