import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Loads a fact about the packet into a register, or sets it from one. */
export interface MetaExpression {
  readonly name: "meta";
  /** See {@link META_KEY}. */
  readonly key: number;
  readonly direction: "load" | "set";
  readonly register: number;
}

/** enum nft_meta_keys */
export const META_KEY = { mark: 3, iifname: 6, oifname: 7, nfproto: 15, l4proto: 16 } as const;

/** enum nft_meta_attributes */
const NFTA_META = { DREG: 1, KEY: 2, SREG: 3 } as const;

export function writeMeta(writer: MessageWriter, meta: MetaExpression): void {
  writer.attrU32be(NFTA_META.KEY, meta.key);
  writer.attrU32be(meta.direction === "load" ? NFTA_META.DREG : NFTA_META.SREG, meta.register);
}

export function readMeta(attributes: AttributeReader): MetaExpression {
  let key = -1;
  let direction: "load" | "set" = "load";
  let register = 0;
  while (attributes.next()) {
    if (attributes.type === NFTA_META.KEY) key = attributes.u32be();
    else if (attributes.type === NFTA_META.DREG) register = attributes.u32be();
    else if (attributes.type === NFTA_META.SREG) {
      register = attributes.u32be();
      direction = "set";
    }
  }
  return { name: "meta", key, direction, register };
}

export function metaKey(meta: MetaExpression): string {
  return `meta ${meta.direction} ${meta.key} ${meta.register}`;
}
