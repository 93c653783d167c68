import { type MessageReader, type MessageWriter, NFGEN_BYTES } from "@bulrush/netlink";
import { DATATYPE_VERDICT } from "../wire/datatype.ts";
import { setUserData } from "./user-data.ts";

/** enum nft_set_attributes, nft_set_desc_attributes, nft_set_flags */
const NFTA_SET = {
  TABLE: 1,
  NAME: 2,
  FLAGS: 3,
  KEY_TYPE: 4,
  KEY_LEN: 5,
  DATA_TYPE: 6,
  DESC: 9,
  ID: 10,
  USERDATA: 13,
} as const;
const NFTA_SET_DESC_SIZE = 1;
export const SET_FLAG = { anonymous: 1, constant: 2, interval: 4, map: 8, timeout: 0x10, evaluated: 0x20 } as const;
/** What packets may add to, for a time. */
export const DYNAMIC_FLAGS: number = SET_FLAG.timeout | SET_FLAG.evaluated;

/** A set as the kernel makes it. */
export interface KernelSet {
  readonly name: string;
  /** Bits of {@link SET_FLAG}, and others for foreign sets. */
  readonly flags: number;
  readonly keyDatatype: number;
  readonly keyBytes: number;
  /** The data are verdicts, or (of foreign maps only) something else. */
  readonly verdicts: boolean;
  readonly size: number | undefined;
}

/** Which set; with an empty name, all of the table (to list them). */
export function writeSetRef(writer: MessageWriter, table: string, name: string): void {
  writer.attrString(NFTA_SET.TABLE, table);
  if (name !== "") writer.attrString(NFTA_SET.NAME, name);
}

export function writeSet(
  writer: MessageWriter,
  table: string,
  set: KernelSet,
  id: number,
  keyOrder: "big" | "host",
): void {
  writeSetRef(writer, table, set.name);
  writer.attrU32be(NFTA_SET.FLAGS, set.flags);
  writer.attrU32be(NFTA_SET.KEY_TYPE, set.keyDatatype);
  writer.attrU32be(NFTA_SET.KEY_LEN, set.keyBytes);
  if (set.verdicts) writer.attrU32be(NFTA_SET.DATA_TYPE, DATATYPE_VERDICT);
  if (set.size !== undefined) {
    const desc = writer.nest(NFTA_SET.DESC);
    writer.attrU32be(NFTA_SET_DESC_SIZE, set.size);
    writer.endNest(desc);
  }
  writer.attrU32be(NFTA_SET.ID, id);
  writer.attrBytes(NFTA_SET.USERDATA, setUserData(keyOrder));
}

export interface DecodedSet extends KernelSet {
  readonly table: string;
}

export function readSet(message: MessageReader): DecodedSet {
  let table = "";
  let name = "";
  let flags = 0;
  let keyDatatype = 0;
  let keyBytes = 0;
  let verdicts = false;
  let size: number | undefined;
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next()) {
    switch (attributes.type) {
      case NFTA_SET.TABLE:
        table = attributes.string();
        break;
      case NFTA_SET.NAME:
        name = attributes.string();
        break;
      case NFTA_SET.FLAGS:
        flags = attributes.u32be();
        break;
      case NFTA_SET.KEY_TYPE:
        keyDatatype = attributes.u32be();
        break;
      case NFTA_SET.KEY_LEN:
        keyBytes = attributes.u32be();
        break;
      case NFTA_SET.DATA_TYPE:
        verdicts = attributes.u32be() === DATATYPE_VERDICT;
        break;
      case NFTA_SET.DESC: {
        const desc = attributes.nested();
        while (desc.next()) if (desc.type === NFTA_SET_DESC_SIZE) size = desc.u32be();
        break;
      }
    }
  }
  return { table, name, flags, keyDatatype, keyBytes, verdicts, size };
}
