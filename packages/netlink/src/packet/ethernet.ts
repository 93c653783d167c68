/** Of a frame (IEEE 802.3): destination, source, type; then the packet. */
export const ETHERTYPE_AT = 12;
export const PACKET_AT = 14;

export const ETHERTYPE = { arp: 0x0806, rarp: 0x8035, ipv6: 0x86dd } as const;

/** Two bytes in network order; what is beyond the end counts as zero. */
export function number16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}
