import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Loads a fact about the packet's tracked connection. Without one, only `state` gives a value; else the rule ends. */
export interface CtExpression {
  readonly name: "ct";
  /** See {@link CT_KEY}. */
  readonly key: number;
  readonly register: number;
  readonly direction: "load" | "set";
}

/** enum nft_ct_keys */
export const CT_KEY = { state: 0, direction: 1, status: 2, mark: 3 } as const;

/** enum nft_ct_attributes */
const NFTA_CT = { DREG: 1, KEY: 2, SREG: 4 } as const;

export function writeCt(writer: MessageWriter, ct: CtExpression): void {
  writer.attrU32be(NFTA_CT.KEY, ct.key);
  writer.attrU32be(ct.direction === "load" ? NFTA_CT.DREG : NFTA_CT.SREG, ct.register);
}

export function readCt(attributes: AttributeReader): CtExpression {
  let key = -1;
  let register = 0;
  let direction: "load" | "set" = "load";
  while (attributes.next()) {
    if (attributes.type === NFTA_CT.KEY) key = attributes.u32be();
    else if (attributes.type === NFTA_CT.DREG) register = attributes.u32be();
    else if (attributes.type === NFTA_CT.SREG) {
      register = attributes.u32be();
      direction = "set";
    }
  }
  return { name: "ct", key, register, direction };
}

export function ctKey(ct: CtExpression): string {
  return `ct ${ct.direction} ${ct.key} ${ct.register}`;
}
