import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Drops the packet and tells its sender. */
export interface RejectExpression {
  readonly name: "reject";
  /** `icmp` counts codes of the table's family (ip, ip6), `icmpx` the common ones (inet). */
  readonly type: RejectType;
  /** 0 for a reset. */
  readonly code: number;
}

type RejectType = "icmp" | "tcp-reset" | "icmpx";
/** enum nft_reject_types: the index is the number. */
const TYPES: readonly RejectType[] = ["icmp", "tcp-reset", "icmpx"];
/** enum nft_reject_attributes */
const NFTA_REJECT = { TYPE: 1, CODE: 2 } as const;

export function writeReject(writer: MessageWriter, reject: RejectExpression): void {
  writer.attrU32be(NFTA_REJECT.TYPE, TYPES.indexOf(reject.type));
  writer.attrU8(NFTA_REJECT.CODE, reject.code);
}

export function readReject(attributes: AttributeReader): RejectExpression {
  let type: RejectType = "icmp";
  let code = 0;
  while (attributes.next()) {
    if (attributes.type === NFTA_REJECT.TYPE) type = TYPES[attributes.u32be()] ?? "icmp";
    else if (attributes.type === NFTA_REJECT.CODE) code = attributes.u8();
  }
  return { name: "reject", type, code };
}

export function rejectKey(reject: RejectExpression): string {
  return `reject ${reject.type} ${reject.code}`;
}
