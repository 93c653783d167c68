/** Ethernet (IEEE 802.3): destination, source, type; then the packet. */
const ETHERTYPE_AT = 12;
const PACKET_AT = 14;

export const ETHERTYPE = { arp: 0x0806, rarp: 0x8035, ipv6: 0x86dd } as const;

/** ARP over Ethernet for IPv4 (RFC 826): sender's and target's protocol addresses. */
const SENDER_AT = PACKET_AT + 14;
const TARGET_AT = PACKET_AT + 24;
const ADDRESS_BYTES = 4;

/**
 * True for a frame by which a machine says that it is here now: a gratuitous ARP (of its own address, RFC 5227), or any
 * reverse ARP (RFC 903), which hypervisors send for a machine that has arrived.
 */
export function isAnnouncement(frame: Uint8Array): boolean {
  const type = ((frame[ETHERTYPE_AT] ?? 0) << 8) | (frame[ETHERTYPE_AT + 1] ?? 0);
  if (type === ETHERTYPE.rarp) return true;
  if (type !== ETHERTYPE.arp || frame.length < TARGET_AT + ADDRESS_BYTES) return false;
  let isNothing = true;
  for (let i = 0; i < ADDRESS_BYTES; i++) {
    if (frame[SENDER_AT + i] !== frame[TARGET_AT + i]) return false;
    isNothing &&= frame[SENDER_AT + i] === 0;
  }
  return !isNothing;
}
