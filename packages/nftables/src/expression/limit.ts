import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Ends the rule unless packets come slower (or, `over`, faster) than the rate. */
export interface LimitExpression {
  readonly name: "limit";
  readonly rate: number;
  /** Seconds of the rate's unit. */
  readonly unitSeconds: number;
  readonly burst: number;
  readonly over: boolean;
  /** Of a foreign rule: bytes, not packets. */
  readonly bytes: boolean;
}

/** enum nft_limit_attributes, nft_limit_type, nft_limit_flags */
const NFTA_LIMIT = { RATE: 1, UNIT: 2, BURST: 3, TYPE: 4, FLAGS: 5 } as const;
const NFT_LIMIT_PKT_BYTES = 1;
const NFT_LIMIT_F_INV = 1;

export function writeLimit(writer: MessageWriter, limit: LimitExpression): void {
  writer.attrU64be(NFTA_LIMIT.RATE, limit.rate);
  writer.attrU64be(NFTA_LIMIT.UNIT, limit.unitSeconds);
  writer.attrU32be(NFTA_LIMIT.BURST, limit.burst);
  writer.attrU32be(NFTA_LIMIT.TYPE, limit.bytes ? NFT_LIMIT_PKT_BYTES : 0);
  writer.attrU32be(NFTA_LIMIT.FLAGS, limit.over ? NFT_LIMIT_F_INV : 0);
}

export function readLimit(attributes: AttributeReader): LimitExpression {
  let rate = 0;
  let unitSeconds = 0;
  let burst = 0;
  let over = false;
  let bytes = false;
  while (attributes.next()) {
    if (attributes.type === NFTA_LIMIT.RATE) rate = Number(attributes.u64be());
    else if (attributes.type === NFTA_LIMIT.UNIT) unitSeconds = Number(attributes.u64be());
    else if (attributes.type === NFTA_LIMIT.BURST) burst = attributes.u32be();
    else if (attributes.type === NFTA_LIMIT.TYPE) bytes = attributes.u32be() === NFT_LIMIT_PKT_BYTES;
    else if (attributes.type === NFTA_LIMIT.FLAGS) over = (attributes.u32be() & NFT_LIMIT_F_INV) !== 0;
  }
  return { name: "limit", rate, unitSeconds, burst, over, bytes };
}

export function limitKey(limit: LimitExpression): string {
  const unit = limit.bytes ? " bytes" : "";
  return `limit${limit.over ? " over" : ""} ${limit.rate}/${limit.unitSeconds} burst ${limit.burst}${unit}`;
}
