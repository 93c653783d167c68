/**
 * Numbers by which nft's own library knows types (include/datatype.h of nftables). The kernel keeps them for it; they
 * make `nft list` print elements as what they are.
 */
export const DATATYPE = {
  nfproto: 2,
  integer: 4,
  ipv4_addr: 7,
  ipv6_addr: 8,
  arp_op: 11,
  inet_proto: 12,
  inet_service: 13,
  icmp_type: 14,
  mark: 19,
  iface_index: 20,
  ct_state: 26,
  ct_dir: 27,
  ct_status: 28,
  icmpv6_type: 29,
  dscp: 36,
  fib_addrtype: 38,
  ifname: 41,
} as const;

/** Fields of a concatenation stand side by side in 6 bits each. */
export const DATATYPE_BITS = 6;

/** NFT_DATA_VERDICT: the data type of a verdict map. */
export const DATATYPE_VERDICT = 0xffffff00;
