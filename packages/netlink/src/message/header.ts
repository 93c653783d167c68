/** linux/netlink.h */
export const NLMSG_HEADER_BYTES = 16;

export const NLMSG = { NOOP: 1, ERROR: 2, DONE: 3, OVERRUN: 4 } as const;

export const NLM_F = {
  REQUEST: 1,
  MULTI: 2,
  ACK: 4,
  ECHO: 8,
  DUMP_INTR: 0x10,
  // For GET:
  ROOT: 0x100,
  DUMP: 0x300,
  // For NEW:
  REPLACE: 0x100,
  EXCL: 0x200,
  CREATE: 0x400,
  APPEND: 0x800,
  // For DELETE:
  NONREC: 0x100,
  // For answers:
  CAPPED: 0x100,
  ACK_TLVS: 0x200,
} as const;

export const NLA_F_NESTED = 0x8000;
export const NLA_TYPE_MASK = 0x3fff;

/** socket(2) protocols of AF_NETLINK. */
export const NETLINK_ROUTE = 0;
export const NETLINK_NETFILTER = 12;
export const NETLINK_GENERIC = 16;

/** Rounds up to the next multiple of four. */
export function align4(length: number): number {
  return (length + 3) & ~3;
}
