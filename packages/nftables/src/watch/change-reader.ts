import { type MessageReader, NFGEN_BYTES } from "@bulrush/netlink";
import { FAMILY_NAME, NFT_MSG, NFT_SUBSYSTEM, NFTA_GEN_PROC_NAME, NFTA_GEN_PROC_PID } from "../wire/message-type.ts";
import type { NftChange } from "./nft-watch.ts";

/** NFTA_TABLE_NAME, and the table's name in every other object's message: the first attribute of all of them. */
const NFTA_TABLE = 1;

/**
 * Makes changes of the kernel's notices: one message an object, then one that names the new generation and whose it is.
 *
 * Invariant: `#tables` is what was told since the last generation.
 */
export class ChangeReader {
  #tables = new Set<string>();

  /** Changes that this datagram completes. Throws NETLINK_MALFORMED. */
  read(reader: MessageReader): NftChange[] {
    const changes: NftChange[] = [];
    while (reader.next()) {
      if (reader.type >> 8 !== NFT_SUBSYSTEM) continue;
      if (reader.type === NFT_MSG.NEWGEN) {
        changes.push({ tables: this.#tables, by: programOf(reader) });
        this.#tables = new Set();
      } else {
        const table = tableOf(reader);
        if (table !== undefined) this.#tables.add(table);
      }
    }
    return changes;
  }

  /** Something was lost: what was told of the transaction at hand is not the whole. */
  reset(): void {
    this.#tables = new Set();
  }
}

function tableOf(message: MessageReader): string | undefined {
  const family = FAMILY_NAME.get(message.u8(0));
  if (family === undefined) return undefined;
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next()) if (attributes.type === NFTA_TABLE) return `${family} ${attributes.string()}`;
  return undefined;
}

function programOf(message: MessageReader): string {
  let pid = 0;
  let name = "";
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next())
    if (attributes.type === NFTA_GEN_PROC_PID) pid = attributes.u32be();
    else if (attributes.type === NFTA_GEN_PROC_NAME) name = attributes.string();
  return name === "" ? "" : `${name} (${pid})`;
}
