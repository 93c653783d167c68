import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Loads bytes of a packet header into a register, or writes them back from one. */
export interface PayloadExpression {
  readonly name: "payload";
  readonly direction: "load" | "write";
  readonly register: number;
  readonly base: "link" | "network" | "transport" | "inner";
  readonly offset: number;
  readonly length: number;
  /** Of a write: offset of the IPv4 header checksum to mend; missing where there is none. */
  readonly checksumOffset?: number;
}

type Base = PayloadExpression["base"];
/** enum nft_payload_bases: the index is the number. */
const BASES: readonly Base[] = ["link", "network", "transport", "inner"];
/** enum nft_payload_attributes */
const NFTA_PAYLOAD = {
  DREG: 1,
  BASE: 2,
  OFFSET: 3,
  LEN: 4,
  SREG: 5,
  CSUM_TYPE: 6,
  CSUM_OFFSET: 7,
  CSUM_FLAGS: 8,
} as const;
const NFT_PAYLOAD_CSUM_INET = 1;

export function writePayload(writer: MessageWriter, payload: PayloadExpression): void {
  const load = payload.direction === "load";
  writer.attrU32be(load ? NFTA_PAYLOAD.DREG : NFTA_PAYLOAD.SREG, payload.register);
  writer.attrU32be(NFTA_PAYLOAD.BASE, BASES.indexOf(payload.base));
  writer.attrU32be(NFTA_PAYLOAD.OFFSET, payload.offset);
  writer.attrU32be(NFTA_PAYLOAD.LEN, payload.length);
  if (load) return;
  writer.attrU32be(NFTA_PAYLOAD.CSUM_TYPE, payload.checksumOffset === undefined ? 0 : NFT_PAYLOAD_CSUM_INET);
  writer.attrU32be(NFTA_PAYLOAD.CSUM_OFFSET, payload.checksumOffset ?? 0);
  writer.attrU32be(NFTA_PAYLOAD.CSUM_FLAGS, 0);
}

export function readPayload(attributes: AttributeReader): PayloadExpression {
  const payload: { -readonly [K in keyof PayloadExpression]: PayloadExpression[K] } = {
    name: "payload",
    direction: "load",
    register: 0,
    base: "link",
    offset: 0,
    length: 0,
  };
  let checksumType = 0;
  let checksumOffset = 0;
  while (attributes.next()) {
    switch (attributes.type) {
      case NFTA_PAYLOAD.DREG:
        payload.register = attributes.u32be();
        break;
      case NFTA_PAYLOAD.SREG:
        payload.register = attributes.u32be();
        payload.direction = "write";
        break;
      case NFTA_PAYLOAD.BASE:
        payload.base = BASES[attributes.u32be()] ?? "inner";
        break;
      case NFTA_PAYLOAD.OFFSET:
        payload.offset = attributes.u32be();
        break;
      case NFTA_PAYLOAD.LEN:
        payload.length = attributes.u32be();
        break;
      case NFTA_PAYLOAD.CSUM_TYPE:
        checksumType = attributes.u32be();
        break;
      case NFTA_PAYLOAD.CSUM_OFFSET:
        checksumOffset = attributes.u32be();
        break;
    }
  }
  if (checksumType === NFT_PAYLOAD_CSUM_INET) payload.checksumOffset = checksumOffset;
  return payload;
}

export function payloadKey(payload: PayloadExpression): string {
  const { direction, register, base, offset, length, checksumOffset } = payload;
  const checksum = checksumOffset === undefined ? "" : ` csum ${checksumOffset}`;
  return `payload ${direction} ${register} ${base} ${offset} ${length}${checksum}`;
}
