import { ETHERTYPE, ETHERTYPE_AT, number16, PACKET_AT } from "./ethernet.ts";

/** ARP over Ethernet for IPv4 (RFC 826): sender's and target's protocol addresses. */
const SENDER_AT = PACKET_AT + 14;
const TARGET_AT = PACKET_AT + 24;
const ADDRESS_BYTES = 4;

/**
 * True for a frame by which a machine says that it is here now: a gratuitous ARP (of its own address, RFC 5227), or any
 * reverse ARP (RFC 903), which hypervisors send for a machine that has arrived.
 */
export function isAnnouncement(frame: Uint8Array): boolean {
  const type = number16(frame, ETHERTYPE_AT);
  if (type === ETHERTYPE.rarp) return true;
  if (type !== ETHERTYPE.arp || frame.length < TARGET_AT + ADDRESS_BYTES) return false;
  let isNothing = true;
  for (let i = 0; i < ADDRESS_BYTES; i++) {
    if (frame[SENDER_AT + i] !== frame[TARGET_AT + i]) return false;
    isNothing &&= frame[SENDER_AT + i] === 0;
  }
  return !isNothing;
}
