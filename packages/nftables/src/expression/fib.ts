import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Looks an address of the packet up in the routing table. */
export interface FibExpression {
  readonly name: "fib";
  readonly dreg: number;
  /** See {@link FIB_RESULT}. */
  readonly result: number;
  /** Bits of {@link FIB_FLAG}. */
  readonly flags: number;
}

/** enum nft_fib_result */
export const FIB_RESULT = { oif: 1, type: 3 } as const;
/** enum nft_fib_flags */
export const FIB_FLAG = { saddr: 1, daddr: 2, mark: 4, iif: 8, oif: 16 } as const;

/** enum nft_fib_attributes */
const NFTA_FIB = { DREG: 1, RESULT: 2, FLAGS: 3 } as const;

export function writeFib(writer: MessageWriter, fib: FibExpression): void {
  writer.attrU32be(NFTA_FIB.DREG, fib.dreg);
  writer.attrU32be(NFTA_FIB.RESULT, fib.result);
  writer.attrU32be(NFTA_FIB.FLAGS, fib.flags);
}

export function readFib(attributes: AttributeReader): FibExpression {
  let dreg = 0;
  let result = 0;
  let flags = 0;
  while (attributes.next()) {
    if (attributes.type === NFTA_FIB.DREG) dreg = attributes.u32be();
    else if (attributes.type === NFTA_FIB.RESULT) result = attributes.u32be();
    else if (attributes.type === NFTA_FIB.FLAGS) flags = attributes.u32be();
  }
  return { name: "fib", dreg, result, flags };
}

export function fibKey(fib: FibExpression): string {
  return `fib ${fib.dreg} ${fib.result} ${fib.flags}`;
}
