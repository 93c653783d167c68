import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Counts the packets that come so far in the rule. */
export interface CounterExpression {
  readonly name: "counter";
  readonly packets: bigint;
  readonly bytes: bigint;
}

/** enum nft_counter_attributes */
const NFTA_COUNTER = { BYTES: 1, PACKETS: 2 } as const;

export function writeCounter(writer: MessageWriter, counter: CounterExpression): void {
  writer.attrU64be(NFTA_COUNTER.BYTES, counter.bytes);
  writer.attrU64be(NFTA_COUNTER.PACKETS, counter.packets);
}

export function readCounter(attributes: AttributeReader): CounterExpression {
  let packets = 0n;
  let bytes = 0n;
  while (attributes.next()) {
    if (attributes.type === NFTA_COUNTER.BYTES) bytes = attributes.u64be();
    else if (attributes.type === NFTA_COUNTER.PACKETS) packets = attributes.u64be();
  }
  return { name: "counter", packets, bytes };
}

/** The values are left out: they say nothing about what the rule does. */
export function counterKey(_counter: CounterExpression): string {
  return "counter";
}
