import type { AttributeReader, MessageWriter } from "@bulrush/netlink";
import { readValue, writeValue } from "../wire/data-value.ts";
import { hex } from "../wire/hex.ts";

/** Ends the rule unless `register op data`. Compares as many bytes as `data` has, in memory order. */
export interface CmpExpression {
  readonly name: "cmp";
  readonly sreg: number;
  readonly op: CmpOp;
  readonly data: Uint8Array;
}

type CmpOp = "eq" | "neq" | "lt" | "lte" | "gt" | "gte";

/** enum nft_cmp_ops: the index is the number. */
const OPS: readonly CmpOp[] = ["eq", "neq", "lt", "lte", "gt", "gte"];
/** enum nft_cmp_attributes */
const NFTA_CMP = { SREG: 1, OP: 2, DATA: 3 } as const;

export function writeCmp(writer: MessageWriter, cmp: CmpExpression): void {
  writer.attrU32be(NFTA_CMP.SREG, cmp.sreg);
  writer.attrU32be(NFTA_CMP.OP, OPS.indexOf(cmp.op));
  writeValue(writer, NFTA_CMP.DATA, cmp.data);
}

export function readCmp(attributes: AttributeReader): CmpExpression {
  let sreg = 0;
  let op: CmpOp = "eq";
  let data = new Uint8Array(0);
  while (attributes.next()) {
    if (attributes.type === NFTA_CMP.SREG) sreg = attributes.u32be();
    else if (attributes.type === NFTA_CMP.OP) op = OPS[attributes.u32be()] ?? "eq";
    else if (attributes.type === NFTA_CMP.DATA) data = new Uint8Array(readValue(attributes));
  }
  return { name: "cmp", sreg, op, data };
}

export function cmpKey(cmp: CmpExpression): string {
  return `cmp ${cmp.op} ${cmp.sreg} ${hex(cmp.data)}`;
}
