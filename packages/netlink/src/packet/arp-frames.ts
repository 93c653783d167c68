import { ETHERTYPE, number16 } from "./ethernet.ts";

/** Ethernet (IEEE 802.3), then ARP over it for IPv4 (RFC 826). */
const FRAME_BYTES = 42;
const BROADCAST = new Uint8Array(6).fill(0xff);
/** Hardware and protocol types and lengths: Ethernet, IPv4. */
const KINDS = [0, 1, 8, 0, 6, 4] as const;
const REQUEST = 1;
const REPLY = 2;
const MAC_BYTES = 6;
const IPV4_BYTES = 4;
const AT = {
  destination: 0,
  source: 6,
  type: 12,
  kinds: 14,
  operation: 20,
  senderMac: 22,
  sender: 28,
  targetMac: 32,
  target: 38,
};

/** Who asks for an address. Bytes are copies. */
export interface ArpQuery {
  readonly target: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderMac: Uint8Array;
}

/**
 * The question of a frame; `undefined` for what is none. One who says that an address is its own (RFC 5227) asks nothing,
 * but one who wants to know whether it may have it (a probe, from no address) does. Nobody is a group.
 */
export function readArpQuery(frame: Uint8Array): ArpQuery | undefined {
  if (frame.length < FRAME_BYTES || number16(frame, AT.type) !== ETHERTYPE.arp) return undefined;
  if (KINDS.some((byte, i) => frame[AT.kinds + i] !== byte) || number16(frame, AT.operation) !== REQUEST)
    return undefined;
  const query = {
    target: frame.slice(AT.target, AT.target + IPV4_BYTES),
    sender: frame.slice(AT.sender, AT.sender + IPV4_BYTES),
    senderMac: frame.slice(AT.senderMac, AT.senderMac + MAC_BYTES),
  };
  const isGroup = ((query.senderMac[0] ?? 0) & 1) !== 0;
  return isGroup || query.target.every((byte, i) => byte === query.sender[i]) ? undefined : query;
}

/** Tells the one who asked that the address is at `mac`. */
export function arpReply(mac: Uint8Array, { sender, senderMac, target }: ArpQuery): Uint8Array {
  return arpFrame(senderMac, mac, { operation: REPLY, sender: target, targetMac: senderMac, target: sender });
}

/** Tells everybody that the address is at `mac` (RFC 5227, section 2.3). */
export function arpAnnouncement(mac: Uint8Array, address: Uint8Array): Uint8Array {
  return arpFrame(BROADCAST, mac, {
    operation: REQUEST,
    sender: address,
    targetMac: new Uint8Array(MAC_BYTES),
    target: address,
  });
}

interface ArpFields {
  readonly operation: number;
  readonly sender: Uint8Array;
  readonly targetMac: Uint8Array;
  readonly target: Uint8Array;
}

function arpFrame(destination: Uint8Array, mac: Uint8Array, fields: ArpFields): Uint8Array {
  const frame = new Uint8Array(FRAME_BYTES);
  frame.set(destination, AT.destination);
  frame.set(mac, AT.source);
  frame.set([ETHERTYPE.arp >> 8, ETHERTYPE.arp & 0xff], AT.type);
  frame.set(KINDS, AT.kinds);
  frame.set([0, fields.operation], AT.operation);
  frame.set(mac, AT.senderMac);
  frame.set(fields.sender, AT.sender);
  frame.set(fields.targetMac, AT.targetMac);
  frame.set(fields.target, AT.target);
  return frame;
}
