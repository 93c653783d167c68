import type { AttributeReader, MessageWriter } from "@bulrush/netlink";
import { REG_VERDICT } from "../wire/register.ts";

/** Ends the rule unless the register's value is in the set (or not in it); of a map, carries out the verdict found. */
export interface LookupExpression {
  readonly name: "lookup";
  readonly sreg: number;
  /** A named set. For an anonymous one the template "__set%d" when written, its own name when read. */
  readonly set: string;
  /** Links an anonymous set to its making in the same batch. */
  readonly setId?: number;
  /** The set is a verdict map. */
  readonly map: boolean;
  readonly inverted: boolean;
}

/** enum nft_lookup_attributes, nft_lookup_flags */
const NFTA_LOOKUP = { SET: 1, SREG: 2, DREG: 3, SET_ID: 4, FLAGS: 5 } as const;
const NFT_LOOKUP_F_INV = 1;

export function writeLookup(writer: MessageWriter, lookup: LookupExpression): void {
  writer.attrString(NFTA_LOOKUP.SET, lookup.set);
  writer.attrU32be(NFTA_LOOKUP.SREG, lookup.sreg);
  if (lookup.map) writer.attrU32be(NFTA_LOOKUP.DREG, REG_VERDICT);
  if (lookup.setId !== undefined) writer.attrU32be(NFTA_LOOKUP.SET_ID, lookup.setId);
  if (lookup.inverted) writer.attrU32be(NFTA_LOOKUP.FLAGS, NFT_LOOKUP_F_INV);
}

export function readLookup(attributes: AttributeReader): LookupExpression {
  let sreg = 0;
  let set = "";
  let map = false;
  let inverted = false;
  while (attributes.next()) {
    if (attributes.type === NFTA_LOOKUP.SET) set = attributes.string();
    else if (attributes.type === NFTA_LOOKUP.SREG) sreg = attributes.u32be();
    else if (attributes.type === NFTA_LOOKUP.DREG) map = true;
    else if (attributes.type === NFTA_LOOKUP.FLAGS) inverted = (attributes.u32be() & NFT_LOOKUP_F_INV) !== 0;
  }
  return { name: "lookup", sreg, set, map, inverted };
}

/** `set` stands for the set: its name, or the contents of an anonymous one. */
export function lookupKey(lookup: LookupExpression, set: string): string {
  return `lookup ${lookup.sreg} ${set}${lookup.map ? " map" : ""}${lookup.inverted ? " inverted" : ""}`;
}
