import type { AttributeReader, MessageWriter } from "@bulrush/netlink";
import { readValue, writeValue } from "../wire/data-value.ts";
import { hex } from "../wire/hex.ts";

/** Ends the rule unless the register lies in the inclusive range (`eq`) or outside it (`neq`). */
export interface RangeExpression {
  readonly name: "range";
  readonly sreg: number;
  readonly op: "eq" | "neq";
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** enum nft_range_attributes, nft_range_ops */
const NFTA_RANGE = { SREG: 1, OP: 2, FROM: 3, TO: 4 } as const;
const NFT_RANGE_NEQ = 1;

export function writeRange(writer: MessageWriter, range: RangeExpression): void {
  writer.attrU32be(NFTA_RANGE.SREG, range.sreg);
  writer.attrU32be(NFTA_RANGE.OP, range.op === "neq" ? NFT_RANGE_NEQ : 0);
  writeValue(writer, NFTA_RANGE.FROM, range.from);
  writeValue(writer, NFTA_RANGE.TO, range.to);
}

export function readRange(attributes: AttributeReader): RangeExpression {
  let sreg = 0;
  let op: "eq" | "neq" = "eq";
  let from = new Uint8Array(0);
  let to = new Uint8Array(0);
  while (attributes.next()) {
    if (attributes.type === NFTA_RANGE.SREG) sreg = attributes.u32be();
    else if (attributes.type === NFTA_RANGE.OP) op = attributes.u32be() === NFT_RANGE_NEQ ? "neq" : "eq";
    else if (attributes.type === NFTA_RANGE.FROM) from = new Uint8Array(readValue(attributes));
    else if (attributes.type === NFTA_RANGE.TO) to = new Uint8Array(readValue(attributes));
  }
  return { name: "range", sreg, op, from, to };
}

export function rangeKey(range: RangeExpression): string {
  return `range ${range.op} ${range.sreg} ${hex(range.from)} ${hex(range.to)}`;
}
