import { type Cidr, cidrOf, formatCidr, maskCidr, parseCidr } from "@bulrush/ip";
import type { Block } from "@bulrush/model";

/** A network and the node that its workloads are on. */
export interface BlockRoute {
  readonly cidr: Cidr;
  readonly node: string;
}

/**
 * What an IPAM block says of routes: the block is on the node of its affinity, and single addresses in it may have been
 * borrowed by other nodes. By text of the network.
 */
export function blockRoutes(text: string, block: Block): Map<string, BlockRoute> {
  const out = new Map<string, BlockRoute>();
  const parsed = parseCidr(text);
  if (parsed === undefined) return out;
  const cidr = maskCidr(parsed);
  const owner = ownerOf(block.affinity);
  if (owner !== undefined) out.set(formatCidr(cidr), { cidr, node: owner });
  for (const [ordinal, index] of block.allocations.entries()) {
    if (index === null || index === undefined) continue;
    const node = block.attributes[index]?.secondary?.["node"];
    if (!node || node === owner) continue;
    const address = cidrOf({ family: cidr.family, words: plus(cidr.words, ordinal) });
    out.set(formatCidr(address), { cidr: address, node });
  }
  return out;
}

/** "host:<node>" or "virtual:<name>". */
function ownerOf(affinity: string | null | undefined): string | undefined {
  for (const prefix of ["host:", "virtual:"])
    if (affinity?.startsWith(prefix)) return affinity.slice(prefix.length) || undefined;
  return undefined;
}

/** The address `count` after the one of these words. */
function plus(words: readonly number[], count: number): number[] {
  const out = [...words];
  let carry = count;
  for (let i = out.length - 1; i >= 0 && carry > 0; i--) {
    const sum = (out[i] ?? 0) + carry;
    out[i] = sum >>> 0;
    carry = sum > 0xffffffff ? 1 : 0;
  }
  return out;
}
