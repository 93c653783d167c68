import type { MessageWriter } from "@bulrush/netlink";

/** enum nft_table_attributes */
const NFTA_TABLE = { NAME: 1 } as const;

export function writeTable(writer: MessageWriter, name: string): void {
  writer.attrString(NFTA_TABLE.NAME, name);
}
