import type { AttributeReader, MessageWriter } from "@bulrush/netlink";

/** Adds the register's value to a set, or takes it out; the rule ends when that cannot be done. */
export interface DynsetExpression {
  readonly name: "dynset";
  readonly op: "add" | "update" | "delete";
  readonly set: string;
  readonly keyRegister: number;
  /** 0: as long as the set says. */
  readonly timeoutMs: number;
  /** Of a foreign rule: it ends when that can be done. */
  readonly inverted: boolean;
}

/** enum nft_dynset_attributes, nft_dynset_ops, nft_dynset_flags */
const NFTA_DYNSET = { SET_NAME: 1, OP: 3, SREG_KEY: 4, TIMEOUT: 6, FLAGS: 9 } as const;
const OPS = ["add", "update", "delete"] as const;
const NFT_DYNSET_F_INV = 1;

export function writeDynset(writer: MessageWriter, dynset: DynsetExpression): void {
  writer.attrU32be(NFTA_DYNSET.SREG_KEY, dynset.keyRegister);
  writer.attrU32be(NFTA_DYNSET.OP, OPS.indexOf(dynset.op));
  writer.attrString(NFTA_DYNSET.SET_NAME, dynset.set);
  if (dynset.timeoutMs > 0) writer.attrU64be(NFTA_DYNSET.TIMEOUT, dynset.timeoutMs);
  if (dynset.inverted) writer.attrU32be(NFTA_DYNSET.FLAGS, NFT_DYNSET_F_INV);
}

export function readDynset(attributes: AttributeReader): DynsetExpression {
  let op: DynsetExpression["op"] = "add";
  let set = "";
  let keyRegister = 0;
  let timeoutMs = 0;
  let inverted = false;
  while (attributes.next()) {
    if (attributes.type === NFTA_DYNSET.SET_NAME) set = attributes.string();
    else if (attributes.type === NFTA_DYNSET.OP) op = OPS[attributes.u32be()] ?? "add";
    else if (attributes.type === NFTA_DYNSET.SREG_KEY) keyRegister = attributes.u32be();
    else if (attributes.type === NFTA_DYNSET.TIMEOUT) timeoutMs = Number(attributes.u64be());
    else if (attributes.type === NFTA_DYNSET.FLAGS) inverted = (attributes.u32be() & NFT_DYNSET_F_INV) !== 0;
  }
  return { name: "dynset", op, set, keyRegister, timeoutMs, inverted };
}

export function dynsetKey({ inverted, keyRegister, op, set, timeoutMs }: DynsetExpression): string {
  const timeout = timeoutMs > 0 ? ` timeout ${timeoutMs}ms` : "";
  return `dynset ${op} ${keyRegister} @${set}${timeout}${inverted ? " inverted" : ""}`;
}
