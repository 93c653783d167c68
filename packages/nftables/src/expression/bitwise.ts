import type { AttributeReader, MessageWriter } from "@bulrush/netlink";
import { readValue, writeValue } from "../wire/data-value.ts";
import { hex } from "../wire/hex.ts";

/** `dreg = (sreg & mask) ^ xor`, over as many bytes as the mask has. */
export interface BitwiseExpression {
  readonly name: "bitwise";
  readonly sreg: number;
  readonly dreg: number;
  readonly mask: Uint8Array;
  readonly xor: Uint8Array;
  /** Of a foreign rule: a shift, or an operation of later kernels. Ours are 0 (mask and xor). */
  readonly op: number;
}

/** enum nft_bitwise_attributes */
const NFTA_BITWISE = { SREG: 1, DREG: 2, LEN: 3, MASK: 4, XOR: 5, OP: 6 } as const;

export function writeBitwise(writer: MessageWriter, bitwise: BitwiseExpression): void {
  writer.attrU32be(NFTA_BITWISE.SREG, bitwise.sreg);
  writer.attrU32be(NFTA_BITWISE.DREG, bitwise.dreg);
  writer.attrU32be(NFTA_BITWISE.LEN, bitwise.mask.length);
  writeValue(writer, NFTA_BITWISE.MASK, bitwise.mask);
  writeValue(writer, NFTA_BITWISE.XOR, bitwise.xor);
}

export function readBitwise(attributes: AttributeReader): BitwiseExpression {
  let sreg = 0;
  let dreg = 0;
  let op = 0;
  let mask = new Uint8Array(0);
  let xor = new Uint8Array(0);
  while (attributes.next()) {
    if (attributes.type === NFTA_BITWISE.SREG) sreg = attributes.u32be();
    else if (attributes.type === NFTA_BITWISE.DREG) dreg = attributes.u32be();
    else if (attributes.type === NFTA_BITWISE.MASK) mask = new Uint8Array(readValue(attributes));
    else if (attributes.type === NFTA_BITWISE.XOR) xor = new Uint8Array(readValue(attributes));
    else if (attributes.type === NFTA_BITWISE.OP) op = attributes.u32be();
  }
  return { name: "bitwise", sreg, dreg, mask, xor, op };
}

export function bitwiseKey(bitwise: BitwiseExpression): string {
  const op = bitwise.op === 0 ? "" : ` op ${bitwise.op}`;
  return `bitwise ${bitwise.sreg} ${bitwise.dreg} ${hex(bitwise.mask)} ${hex(bitwise.xor)}${op}`;
}
