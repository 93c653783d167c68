import { must } from "@bulrush/base";
import { formatCidr, maskCidr, parseCidr } from "@bulrush/ip";
import type { Statement } from "@bulrush/nftables";
import { address, type Family, inNet, notInNet, type Side } from "../statements.ts";

/** What a field of a rule asks of a packet of one family. */
export type FieldMatch =
  /** No packet of the family can match: the rule is left out. */
  | { readonly kind: "never" }
  /** All of these must hold; none at all means every packet. */
  | { readonly kind: "all"; readonly statements: readonly Statement[] }
  /** At least one of these must hold (each a list of statements that all must). Two entries or more. */
  | { readonly kind: "any"; readonly alternatives: readonly (readonly Statement[])[] };

export const EVERY: FieldMatch = { kind: "all", statements: [] };
export const NEVER: FieldMatch = { kind: "never" };

/** One alternative is no alternative. */
export function anyOf(alternatives: readonly (readonly Statement[])[]): FieldMatch {
  const [only, second] = alternatives;
  if (only === undefined) return NEVER;
  return second === undefined ? { kind: "all", statements: only } : { kind: "any", alternatives };
}

function netsOfFamily(nets: readonly string[], family: Family): string[] {
  const texts = new Set<string>();
  for (const net of nets) {
    const cidr = must(parseCidr(net), `a network in place of "${net}"`);
    if (cidr.family === family) texts.add(formatCidr(maskCidr(cidr)));
  }
  return [...texts];
}

const isEverything = (net: string): boolean => net.endsWith("/0");

/** A list of networks: the packet's address is in one of them. A list of the other family alone matches nothing. */
export function matchNets(side: Side, nets: readonly string[] | undefined, family: Family): FieldMatch {
  if (nets === undefined || nets.length === 0) return EVERY;
  const own = netsOfFamily(nets, family);
  if (own.some(isEverything)) return EVERY;
  return anyOf(own.map((net) => [inNet(address(side, family), net)]));
}

/**
 * A negated list: the packet's address is in none of them. A list without an entry of this family takes the rule out,
 * and so does the whole address space.
 */
export function matchNoNets(side: Side, nets: readonly string[] | undefined, family: Family): FieldMatch {
  if (nets === undefined || nets.length === 0) return EVERY;
  const own = netsOfFamily(nets, family);
  if (own.length === 0 || own.some(isEverything)) return NEVER;
  return { kind: "all", statements: own.map((net) => notInNet(address(side, family), net)) };
}
