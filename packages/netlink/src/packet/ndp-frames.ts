import { ETHERTYPE, number16 } from "./ethernet.ts";

/** Ethernet, IPv6 (RFC 8200), then a message of neighbour discovery (RFC 4861) without and with one option. */
const QUERY_BYTES = 14 + 40 + 24;
const ANSWER_BYTES = QUERY_BYTES + 8;
const AT = {
  destinationMac: 0,
  sourceMac: 6,
  type: 12,
  ip: 14,
  payloadLength: 18,
  nextHeader: 20,
  hopLimit: 21,
  source: 22,
  destination: 38,
  icmp: 54,
  checksum: 56,
  flags: 58,
  target: 62,
  option: 78,
} as const;
const ICMPV6 = 58;
const SOLICITATION = 135;
const ADVERTISEMENT = 136;
/** Who got further than one hop is none of ours (RFC 4861, section 7.1). */
const HOP_LIMIT = 255;
const FLAG = { solicited: 0x40, override: 0x20 } as const;
const OPTION_TARGET_MAC = 2;
const ADDRESS_BYTES = 16;
const MAC_BYTES = 6;
const ALL_NODES = new Uint8Array([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
const SOLICITED_NODE = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff] as const;

/** Who asks for an address. Bytes are copies. */
export interface NdpQuery {
  readonly target: Uint8Array;
  /** All zeros: one who wants to know whether it may have the address (RFC 4862, section 5.4). */
  readonly source: Uint8Array;
  readonly sourceMac: Uint8Array;
}

/** The group in which those are asked whose addresses end alike (RFC 4291, section 2.7.1). */
export function solicitedNodeGroup(address: Uint8Array): Uint8Array {
  return new Uint8Array([...SOLICITED_NODE, ...address.subarray(13, ADDRESS_BYTES)]);
}

/** The question of a frame; `undefined` for what is none, or is no valid one (RFC 4861, section 7.1.1). */
export function readNdpQuery(frame: Uint8Array): NdpQuery | undefined {
  if (frame.length < QUERY_BYTES || number16(frame, AT.type) !== ETHERTYPE.ipv6) return undefined;
  const [hopLimit, nextHeader, type, code] = [
    frame[AT.hopLimit],
    frame[AT.nextHeader],
    frame[AT.icmp],
    frame[AT.icmp + 1],
  ];
  if (nextHeader !== ICMPV6 || hopLimit !== HOP_LIMIT || type !== SOLICITATION || code !== 0) return undefined;
  const length = number16(frame, AT.payloadLength);
  if (length < QUERY_BYTES - AT.icmp || AT.icmp + length > frame.length) return undefined;
  if (checksum(frame, length) !== 0) return undefined;
  const target = frame.slice(AT.target, AT.target + ADDRESS_BYTES);
  if (target[0] === 0xff) return undefined;
  return {
    target,
    source: frame.slice(AT.source, AT.source + ADDRESS_BYTES),
    sourceMac: frame.slice(AT.sourceMac, AT.sourceMac + MAC_BYTES),
  };
}

/** Tells the one who asked, or everybody if that one has no address yet, that the address is at `mac`. */
export function ndpReply(mac: Uint8Array, from: Uint8Array, { source, sourceMac, target }: NdpQuery): Uint8Array {
  if (source.every((byte) => byte === 0)) return ndpAnnouncement(mac, from, target);
  return advertisement(mac, from, {
    target,
    destination: source,
    destinationMac: sourceMac,
    flags: FLAG.solicited | FLAG.override,
  });
}

/** Tells everybody that the address is at `mac` (RFC 4861, section 7.2.6). `from`: an address of the one who says it. */
export function ndpAnnouncement(mac: Uint8Array, from: Uint8Array, target: Uint8Array): Uint8Array {
  const destinationMac = new Uint8Array([0x33, 0x33, ...ALL_NODES.subarray(12)]);
  return advertisement(mac, from, { target, destination: ALL_NODES, destinationMac, flags: FLAG.override });
}

interface AdvertisementFields {
  readonly target: Uint8Array;
  readonly destination: Uint8Array;
  readonly destinationMac: Uint8Array;
  readonly flags: number;
}

function advertisement(mac: Uint8Array, from: Uint8Array, fields: AdvertisementFields): Uint8Array {
  const frame = new Uint8Array(ANSWER_BYTES);
  const length = ANSWER_BYTES - AT.icmp;
  frame.set(fields.destinationMac, AT.destinationMac);
  frame.set(mac, AT.sourceMac);
  frame.set([ETHERTYPE.ipv6 >> 8, ETHERTYPE.ipv6 & 0xff, 0x60], AT.type);
  frame.set([0, length, ICMPV6, HOP_LIMIT], AT.payloadLength);
  frame.set(from, AT.source);
  frame.set(fields.destination, AT.destination);
  frame.set([ADVERTISEMENT, 0, 0, 0, fields.flags], AT.icmp);
  frame.set(fields.target, AT.target);
  frame.set([OPTION_TARGET_MAC, 1], AT.option);
  frame.set(mac, AT.option + 2);
  const sum = checksum(frame, length);
  frame.set([sum >> 8, sum & 0xff], AT.checksum);
  return frame;
}

/** Of the message with its pseudo-header (RFC 8200, section 8.1). 0 for a message whose checksum is right. */
function checksum(frame: Uint8Array, length: number): number {
  let sum = length + ICMPV6;
  for (let i = 0; i < 2 * ADDRESS_BYTES; i += 2) sum += number16(frame, AT.source + i);
  for (let i = 0; i < length; i += 2)
    sum += ((frame[AT.icmp + i] ?? 0) << 8) | (i + 1 < length ? (frame[AT.icmp + i + 1] ?? 0) : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
