import type { AttributeReader, MessageWriter } from "@bulrush/netlink";
import type { Verdict } from "../statement.ts";
import { readData, verdictText, writeValue, writeVerdict } from "../wire/data-value.ts";
import { hex } from "../wire/hex.ts";

/** Puts a constant into a register; a verdict goes into register 0 and ends the rule with it. */
export interface ImmediateExpression {
  readonly name: "immediate";
  readonly dreg: number;
  /** `undefined`: a verdict of a foreign rule that we have no name for. */
  readonly data: Uint8Array | Verdict | undefined;
}

/** enum nft_immediate_attributes */
const NFTA_IMMEDIATE = { DREG: 1, DATA: 2 } as const;

export function writeImmediate(writer: MessageWriter, immediate: ImmediateExpression): void {
  writer.attrU32be(NFTA_IMMEDIATE.DREG, immediate.dreg);
  if (immediate.data instanceof Uint8Array) writeValue(writer, NFTA_IMMEDIATE.DATA, immediate.data);
  else if (immediate.data !== undefined) writeVerdict(writer, NFTA_IMMEDIATE.DATA, immediate.data);
}

export function readImmediate(attributes: AttributeReader): ImmediateExpression {
  let dreg = 0;
  let data: Uint8Array | Verdict | undefined;
  while (attributes.next()) {
    if (attributes.type === NFTA_IMMEDIATE.DREG) dreg = attributes.u32be();
    else if (attributes.type === NFTA_IMMEDIATE.DATA) data = readData(attributes);
  }
  return { name: "immediate", dreg, data };
}

export function immediateKey(immediate: ImmediateExpression): string {
  const { data, dreg } = immediate;
  if (data === undefined) return `immediate ${dreg} unknown`;
  return `immediate ${dreg} ${data instanceof Uint8Array ? hex(data) : verdictText(data)}`;
}
