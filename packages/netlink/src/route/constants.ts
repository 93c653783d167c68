/** linux/rtnetlink.h, linux/socket.h */
export const RTM = {
  NEWLINK: 16,
  DELLINK: 17,
  GETLINK: 18,
  NEWADDR: 20,
  DELADDR: 21,
  GETADDR: 22,
  NEWROUTE: 24,
  DELROUTE: 25,
  GETROUTE: 26,
  NEWNEIGH: 28,
  DELNEIGH: 29,
  GETNEIGH: 30,
  NEWRULE: 32,
  DELRULE: 33,
  GETRULE: 34,
  NEWQDISC: 36,
  DELQDISC: 37,
  GETQDISC: 38,
  NEWTFILTER: 44,
  DELTFILTER: 45,
  GETTFILTER: 46,
} as const;

export const AF_UNSPEC = 0;
export const AF_INET = 2;
export const AF_BRIDGE = 7;
export const AF_INET6 = 10;

/** Sizes of the fixed parts: ifinfomsg, ifaddrmsg, rtmsg, ndmsg. */
export const LINK_BODY_BYTES = 16;
export const ADDRESS_BODY_BYTES = 8;
export const ROUTE_BODY_BYTES = 12;
export const NEIGHBOUR_BODY_BYTES = 12;
