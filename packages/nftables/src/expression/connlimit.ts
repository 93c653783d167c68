import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Ends the rule unless the connections that came this way number at most (or, `over`, more than) `count`. */
export interface ConnlimitExpression {
  readonly name: "connlimit";
  readonly count: number;
  readonly over: boolean;
}

/** enum nft_connlimit_attributes, nft_connlimit_flags */
const NFTA_CONNLIMIT = { COUNT: 1, FLAGS: 2 } as const;
const NFT_CONNLIMIT_F_INV = 1;

export function writeConnlimit(writer: MessageWriter, connlimit: ConnlimitExpression): void {
  writer.attrU32be(NFTA_CONNLIMIT.COUNT, connlimit.count);
  writer.attrU32be(NFTA_CONNLIMIT.FLAGS, connlimit.over ? NFT_CONNLIMIT_F_INV : 0);
}

export function readConnlimit(attributes: AttributeReader): ConnlimitExpression {
  let count = 0;
  let over = false;
  while (attributes.next()) {
    if (attributes.type === NFTA_CONNLIMIT.COUNT) count = attributes.u32be();
    else if (attributes.type === NFTA_CONNLIMIT.FLAGS) over = (attributes.u32be() & NFT_CONNLIMIT_F_INV) !== 0;
  }
  return { name: "connlimit", count, over };
}

export function connlimitKey(connlimit: ConnlimitExpression): string {
  return `connlimit${connlimit.over ? " over" : ""} ${connlimit.count}`;
}
