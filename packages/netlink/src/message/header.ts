/** linux/netlink.h */
export const NLMSG_HEADER_BYTES = 16;

/** Types of control messages (linux/netlink.h); a protocol's own begin at 16. */
export const NLMSG = { NOOP: 1, ERROR: 2, DONE: 3, OVERRUN: 4 } as const;

/** Flags of a message (linux/netlink.h). From 0x100 on, what a bit means depends on the kind of request. */
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

/** Flag in an attribute's type: its payload is attributes (linux/netlink.h). */
export const NLA_F_NESTED = 0x8000;
export const NLA_TYPE_MASK = 0x3fff;

/** socket(2) protocols of AF_NETLINK. */
export const NETLINK_ROUTE = 0;
/** linux/netlink.h; nf_tables, conntrack, packet log. */
export const NETLINK_NETFILTER = 12;
/** linux/netlink.h; families of generic netlink, as WireGuard's. */
export const NETLINK_GENERIC = 16;

/** Rounds up to the next multiple of four. */
export function align4(length: number): number {
  return (length + 3) & ~3;
}
