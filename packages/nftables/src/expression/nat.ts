import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Rewrites the connection's source or destination to what lies in registers. */
export interface NatExpression {
  readonly name: "nat";
  readonly type: "snat" | "dnat";
  readonly family: 4 | 6;
  /** Registers of the first and last address. */
  readonly firstAddressRegister: number;
  readonly lastAddressRegister: number;
  /** Registers of the first and last port; 0 when ports are left alone. */
  readonly firstPortRegister: number;
  readonly lastPortRegister: number;
  /** NF_NAT_RANGE_ flags but those that follow from address and ports. Ours are 0. */
  readonly flags: number;
}

/** enum nft_nat_attributes */
const NFTA_NAT = { TYPE: 1, FAMILY: 2, ADDR_MIN: 3, ADDR_MAX: 4, PROTO_MIN: 5, PROTO_MAX: 6, FLAGS: 7 } as const;
const NFT_NAT_DNAT = 1;
/** NF_NAT_RANGE_ flags that the kernel sets by itself, linux/netfilter/nf_nat.h */
const MAP_IPS = 1;
const PROTO_SPECIFIED = 2;
const NFPROTO_IPV6 = 10;
const NFPROTO_IPV4 = 2;

export function writeNat(writer: MessageWriter, nat: NatExpression): void {
  writer.attrU32be(NFTA_NAT.TYPE, nat.type === "dnat" ? NFT_NAT_DNAT : 0);
  writer.attrU32be(NFTA_NAT.FAMILY, nat.family === 4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
  writer.attrU32be(NFTA_NAT.ADDR_MIN, nat.firstAddressRegister);
  writer.attrU32be(NFTA_NAT.ADDR_MAX, nat.lastAddressRegister);
  if (nat.firstPortRegister === 0) return;
  writer.attrU32be(NFTA_NAT.PROTO_MIN, nat.firstPortRegister);
  writer.attrU32be(NFTA_NAT.PROTO_MAX, nat.lastPortRegister);
}

export function readNat(attributes: AttributeReader): NatExpression {
  let type: "snat" | "dnat" = "snat";
  let family: 4 | 6 = 4;
  let firstAddressRegister = 0;
  let lastAddressRegister = 0;
  let flags = 0;
  let firstPortRegister = 0;
  let lastPortRegister = 0;
  while (attributes.next()) {
    if (attributes.type === NFTA_NAT.TYPE) type = attributes.u32be() === NFT_NAT_DNAT ? "dnat" : "snat";
    else if (attributes.type === NFTA_NAT.FAMILY) family = attributes.u32be() === NFPROTO_IPV6 ? 6 : 4;
    else if (attributes.type === NFTA_NAT.ADDR_MIN) firstAddressRegister = attributes.u32be();
    else if (attributes.type === NFTA_NAT.ADDR_MAX) lastAddressRegister = attributes.u32be();
    else if (attributes.type === NFTA_NAT.FLAGS) flags = attributes.u32be() & ~(MAP_IPS | PROTO_SPECIFIED);
    else if (attributes.type === NFTA_NAT.PROTO_MIN) firstPortRegister = attributes.u32be();
    else if (attributes.type === NFTA_NAT.PROTO_MAX) lastPortRegister = attributes.u32be();
  }
  return {
    name: "nat",
    type,
    family,
    firstAddressRegister,
    lastAddressRegister,
    firstPortRegister,
    lastPortRegister,
    flags,
  };
}

export function natKey(nat: NatExpression): string {
  const ports = nat.firstPortRegister === 0 ? "" : ` ports ${nat.firstPortRegister} ${nat.lastPortRegister}`;
  const addresses = `${nat.firstAddressRegister} ${nat.lastAddressRegister}`;
  return `nat ${nat.type} ${nat.family} ${addresses}${ports} flags ${nat.flags}`;
}
