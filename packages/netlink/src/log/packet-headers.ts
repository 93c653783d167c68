import { formatAddress } from "@bulrush/ip";
import type { LogPacket } from "./log-packet.ts";

type Headers = Pick<LogPacket, "source" | "destination" | "protocol" | "sourcePort" | "destinationPort" | "icmp">;

/** IANA protocol numbers. */
const ICMP = 1;
const ICMPV6 = 58;
/** TCP, UDP, DCCP, SCTP, UDP-Lite: two ports at the start. */
const WITH_PORTS: ReadonlySet<number> = new Set([6, 17, 33, 132, 136]);
/** Hop-by-hop, routing, destination options, mobility, HIP, shim6 (RFC 8200, RFC 7045): length in units of 8 bytes. */
const EXTENSIONS: ReadonlySet<number> = new Set([0, 43, 60, 135, 139, 140]);
const FRAGMENT = 44;
/** An authentication header says its length in units of 4 bytes (RFC 4302). */
const AUTHENTICATION = 51;
/** A packet with more extension headers than this is read as far as they go. */
const MAX_EXTENSIONS = 8;

/** Reads the headers of an IP packet, as far as they are there. `undefined`: not even its addresses are. */
export function readHeaders(bytes: Uint8Array): Headers | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < 1) return undefined;
  const version = view.getUint8(0) >> 4;
  if (version === 4) return readIpv4(view);
  return version === 6 ? readIpv6(view) : undefined;
}

/** RFC 791, section 3.1. */
function readIpv4(view: DataView): Headers | undefined {
  if (view.byteLength < 20) return undefined;
  const headerBytes = (view.getUint8(0) & 0xf) * 4;
  const protocol = view.getUint8(9);
  const isFirst = (view.getUint16(6) & 0x1fff) === 0;
  return {
    source: formatAddress({ family: 4, words: [view.getUint32(12)] }),
    destination: formatAddress({ family: 4, words: [view.getUint32(16)] }),
    protocol,
    ...(isFirst && headerBytes >= 20 ? readTransport(view, headerBytes, protocol) : {}),
  };
}

/** RFC 8200, section 3. */
function readIpv6(view: DataView): Headers | undefined {
  if (view.byteLength < 40) return undefined;
  let protocol = view.getUint8(6);
  let at = 40;
  let isFirst = true;
  for (let i = 0; i < MAX_EXTENSIONS && at + 8 <= view.byteLength; i++) {
    if (protocol === FRAGMENT) isFirst = (view.getUint16(at + 2) & 0xfff8) === 0;
    else if (protocol !== AUTHENTICATION && !EXTENSIONS.has(protocol)) break;
    const units = view.getUint8(at + 1);
    const bytes = protocol === FRAGMENT ? 8 : protocol === AUTHENTICATION ? (units + 2) * 4 : (units + 1) * 8;
    protocol = view.getUint8(at);
    at += bytes;
    // What follows a later fragment's header is data.
    if (!isFirst) break;
  }
  const words = (offset: number): number[] => [0, 4, 8, 12].map((step) => view.getUint32(offset + step));
  return {
    source: formatAddress({ family: 6, words: words(8) }),
    destination: formatAddress({ family: 6, words: words(24) }),
    protocol,
    ...(isFirst ? readTransport(view, at, protocol) : {}),
  };
}

function readTransport(
  view: DataView,
  at: number,
  protocol: number,
): Pick<Headers, "sourcePort" | "destinationPort" | "icmp"> {
  if (WITH_PORTS.has(protocol) && at + 4 <= view.byteLength)
    return { sourcePort: view.getUint16(at), destinationPort: view.getUint16(at + 2) };
  if ((protocol === ICMP || protocol === ICMPV6) && at + 2 <= view.byteLength)
    return { icmp: { type: view.getUint8(at), code: view.getUint8(at + 1) } };
  return {};
}
