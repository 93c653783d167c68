import type { AttributeReader, MessageWriter } from "@bulrush/netlink";
import type { Verdict } from "../statement.ts";

/** enum nft_data_attributes, nft_verdict_attributes */
export const NFTA_DATA_VALUE = 1;
const NFTA_DATA = { VALUE: NFTA_DATA_VALUE, VERDICT: 2 } as const;
const NFTA_VERDICT = { CODE: 1, CHAIN: 2 } as const;

/** enum nft_verdicts and linux/netfilter.h */
const VERDICT_CODES: Readonly<Record<Verdict["kind"], number>> = {
  drop: 0,
  accept: 1,
  continue: -1,
  jump: -3,
  goto: -4,
  return: -5,
};

/** Writes an attribute that holds a value for a register. */
export function writeValue(writer: MessageWriter, attribute: number, bytes: Uint8Array): void {
  const nest = writer.nest(attribute);
  writer.attrBytes(NFTA_DATA.VALUE, bytes);
  writer.endNest(nest);
}

export function writeVerdict(writer: MessageWriter, attribute: number, verdict: Verdict): void {
  const data = writer.nest(attribute);
  const nest = writer.nest(NFTA_DATA.VERDICT);
  writer.attrU32be(NFTA_VERDICT.CODE, VERDICT_CODES[verdict.kind]);
  if (verdict.kind === "jump" || verdict.kind === "goto") writer.attrString(NFTA_VERDICT.CHAIN, verdict.chain);
  writer.endNest(nest);
  writer.endNest(data);
}

/** A register value (a copy) or a verdict; `undefined` for a verdict that we have no name for. */
export function readData(attribute: AttributeReader): Uint8Array | Verdict | undefined {
  const nested = attribute.nested();
  while (nested.next()) {
    if (nested.type === NFTA_DATA.VALUE) return nested.bytes().slice();
    if (nested.type === NFTA_DATA.VERDICT) return readVerdict(nested.nested());
  }
  return undefined;
}

/** The value of an attribute that must hold one; empty when it does not. */
export function readValue(attribute: AttributeReader): Uint8Array {
  const data = readData(attribute);
  return data instanceof Uint8Array ? data : new Uint8Array(0);
}

function readVerdict(attributes: AttributeReader): Verdict | undefined {
  let code = 0;
  let chain = "";
  while (attributes.next()) {
    if (attributes.type === NFTA_VERDICT.CODE) code = attributes.u32be() | 0;
    else if (attributes.type === NFTA_VERDICT.CHAIN) chain = attributes.string();
  }
  switch (code) {
    case 0:
      return { kind: "drop" };
    case 1:
      return { kind: "accept" };
    case -1:
      return { kind: "continue" };
    case -3:
      return { kind: "jump", chain };
    case -4:
      return { kind: "goto", chain };
    case -5:
      return { kind: "return" };
    default:
      return undefined;
  }
}

/** The verdict as nft writes it. */
export function verdictText(verdict: Verdict): string {
  return verdict.kind === "jump" || verdict.kind === "goto" ? `${verdict.kind} ${verdict.chain}` : verdict.kind;
}
