import { type MessageReader, type MessageWriter, NFGEN_BYTES } from "@bulrush/netlink";

/** enum nft_table_attributes, nft_table_flags */
const NFTA_TABLE = { NAME: 1, FLAGS: 2 } as const;
const NFT_TABLE_F_DORMANT = 1;

/** Without `asleep`, a table that is there stays as it is. */
export function writeTable(writer: MessageWriter, name: string, asleep?: boolean): void {
  writer.attrString(NFTA_TABLE.NAME, name);
  if (asleep !== undefined) writer.attrU32be(NFTA_TABLE.FLAGS, asleep ? NFT_TABLE_F_DORMANT : 0);
}

/** Whether no packet comes to the table's base chains. */
export function readIsAsleep(message: MessageReader): boolean {
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next())
    if (attributes.type === NFTA_TABLE.FLAGS) return (attributes.u32be() & NFT_TABLE_F_DORMANT) !== 0;
  return false;
}
