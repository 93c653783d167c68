import type { TableFamily } from "../state.ts";

/** NFNL_SUBSYS_NFTABLES, linux/netfilter/nfnetlink.h */
export const NFT_SUBSYSTEM = 10;
/** NFNL_MSG_BATCH_BEGIN and _END: control messages, outside every subsystem. */
export const BATCH_BEGIN = 16;
export const BATCH_END = 17;
/** NFNL_BATCH_GENID */
export const BATCH_GENID = 1;

/** enum nf_tables_msg_types (linux/netfilter/nf_tables.h) with the subsystem in the high byte. */
export const NFT_MSG = {
  NEWTABLE: 0x0a00,
  GETTABLE: 0x0a01,
  DELTABLE: 0x0a02,
  NEWCHAIN: 0x0a03,
  GETCHAIN: 0x0a04,
  DELCHAIN: 0x0a05,
  NEWRULE: 0x0a06,
  GETRULE: 0x0a07,
  DELRULE: 0x0a08,
  NEWSET: 0x0a09,
  GETSET: 0x0a0a,
  DELSET: 0x0a0b,
  NEWSETELEM: 0x0a0c,
  GETSETELEM: 0x0a0d,
  DELSETELEM: 0x0a0e,
  NEWGEN: 0x0a0f,
  GETGEN: 0x0a10,
  NEWFLOWTABLE: 0x0a16,
  GETFLOWTABLE: 0x0a17,
  DELFLOWTABLE: 0x0a18,
} as const;

/** enum nft_gen_attributes: NFTA_GEN_ID, and, in notices, whose generation it is. */
export const NFTA_GEN_ID = 1;
export const NFTA_GEN_PROC_PID = 2;
export const NFTA_GEN_PROC_NAME = 3;

/** NFPROTO_ numbers of linux/netfilter.h. */
export const FAMILY_NUMBER: Readonly<Record<TableFamily, number>> = { inet: 1, ip: 2, arp: 3, ip6: 10 };
export const FAMILY_NAME: ReadonlyMap<number, TableFamily> = new Map(
  Object.entries(FAMILY_NUMBER).map(([name, number]) => [number, name as TableFamily]),
);
