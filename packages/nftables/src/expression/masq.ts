import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Rewrites the connection's source to an address of the device that it leaves by. */
export interface MasqExpression {
  readonly name: "masq";
  /** NF_NAT_RANGE_ flags but those that follow from the ports: fully-random 0x10. */
  readonly flags: number;
  /** Registers of the first and last port; 0 when ports are left to the kernel. */
  readonly firstPortRegister: number;
  readonly lastPortRegister: number;
}

/** enum nft_masq_attributes */
const NFTA_MASQ = { FLAGS: 1, PROTO_MIN: 2, PROTO_MAX: 3 } as const;
/** NF_NAT_RANGE_ flags, linux/netfilter/nf_nat.h */
const MAP_IPS = 1;
const PROTO_SPECIFIED = 2;
export const NAT_FULLY_RANDOM = 0x10;

export function writeMasq(writer: MessageWriter, masq: MasqExpression): void {
  const ports = masq.firstPortRegister !== 0;
  const flags = masq.flags | (ports ? PROTO_SPECIFIED : 0);
  if (flags !== 0) writer.attrU32be(NFTA_MASQ.FLAGS, flags);
  if (!ports) return;
  writer.attrU32be(NFTA_MASQ.PROTO_MIN, masq.firstPortRegister);
  writer.attrU32be(NFTA_MASQ.PROTO_MAX, masq.lastPortRegister);
}

export function readMasq(attributes: AttributeReader): MasqExpression {
  let flags = 0;
  let firstPortRegister = 0;
  let lastPortRegister = 0;
  while (attributes.next()) {
    if (attributes.type === NFTA_MASQ.FLAGS) flags = attributes.u32be() & ~(MAP_IPS | PROTO_SPECIFIED);
    else if (attributes.type === NFTA_MASQ.PROTO_MIN) firstPortRegister = attributes.u32be();
    else if (attributes.type === NFTA_MASQ.PROTO_MAX) lastPortRegister = attributes.u32be();
  }
  return { name: "masq", flags, firstPortRegister, lastPortRegister };
}

export function masqKey(masq: MasqExpression): string {
  const ports = masq.firstPortRegister === 0 ? "" : ` ports ${masq.firstPortRegister} ${masq.lastPortRegister}`;
  return `masq ${masq.flags}${ports}`;
}
