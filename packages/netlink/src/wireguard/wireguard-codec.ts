import { addressBytes, formatAddress, parseAddress } from "@bulrush/ip";
import { GENL_BODY_BYTES, writeGenericBody } from "../generic/generic-codec.ts";
import type { AttributeReader } from "../message/attribute-reader.ts";
import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { AF_INET, AF_INET6 } from "../route/constants.ts";
import { addressText, badArgument, kernelFamily, mustCidr } from "../route/text-codec.ts";
import type { WireguardChange, WireguardDevice, WireguardPeer, WireguardPeerChange } from "./wireguard.ts";

/** linux/wireguard.h */
export const WG_GENL_NAME = "wireguard";
const WG_VERSION = 1;
const WG_CMD = { GET_DEVICE: 0, SET_DEVICE: 1 } as const;
const WGDEVICE = {
  IFINDEX: 1,
  IFNAME: 2,
  PRIVATE_KEY: 3,
  PUBLIC_KEY: 4,
  FLAGS: 5,
  LISTEN_PORT: 6,
  FWMARK: 7,
  PEERS: 8,
} as const;
const WGDEVICE_F_REPLACE_PEERS = 1;
const WGPEER = {
  PUBLIC_KEY: 1,
  FLAGS: 3,
  ENDPOINT: 4,
  KEEPALIVE: 5,
  LAST_HANDSHAKE: 6,
  RX_BYTES: 7,
  TX_BYTES: 8,
  ALLOWEDIPS: 9,
} as const;
const WGPEER_F = { REMOVE_ME: 1, REPLACE_ALLOWEDIPS: 2 } as const;
const WGALLOWEDIP = { FAMILY: 1, IPADDR: 2, CIDR_MASK: 3 } as const;

const KEY_BYTES = 32;
/** `struct sockaddr_in` and `struct sockaddr_in6`. */
const SOCKADDR_BYTES = { 4: 16, 6: 28 } as const;

/** Asks for a device by name. */
export function writeDeviceRequest(writer: MessageWriter, name: string): void {
  writeGenericBody(writer, WG_CMD.GET_DEVICE, WG_VERSION);
  writer.attrString(WGDEVICE.IFNAME, name);
}

export function writeDeviceChange(writer: MessageWriter, change: WireguardChange): void {
  writeGenericBody(writer, WG_CMD.SET_DEVICE, WG_VERSION);
  writer.attrString(WGDEVICE.IFNAME, change.name);
  if (change.replacePeers === true) writer.attrU32(WGDEVICE.FLAGS, WGDEVICE_F_REPLACE_PEERS);
  if (change.privateKey !== undefined) writer.attrBytes(WGDEVICE.PRIVATE_KEY, keyBytes(change.privateKey));
  if (change.port !== undefined) writer.attrU16(WGDEVICE.LISTEN_PORT, change.port);
  if (change.mark !== undefined) writer.attrU32(WGDEVICE.FWMARK, change.mark);
  if (change.peers === undefined || change.peers.length === 0) return;
  const peers = writer.nest(WGDEVICE.PEERS);
  // The number of an entry means nothing.
  for (const peer of change.peers) {
    const entry = writer.nest(0);
    writePeer(writer, peer);
    writer.endNest(entry);
  }
  writer.endNest(peers);
}

function writePeer(writer: MessageWriter, peer: WireguardPeerChange): void {
  writer.attrBytes(WGPEER.PUBLIC_KEY, keyBytes(peer.publicKey));
  if (peer.remove === true) {
    writer.attrU32(WGPEER.FLAGS, WGPEER_F.REMOVE_ME);
    return;
  }
  if (peer.allowedIps !== undefined) writer.attrU32(WGPEER.FLAGS, WGPEER_F.REPLACE_ALLOWEDIPS);
  if (peer.endpoint !== undefined) writer.attrBytes(WGPEER.ENDPOINT, endpointBytes(peer.endpoint));
  if (peer.keepaliveSeconds !== undefined) writer.attrU16(WGPEER.KEEPALIVE, peer.keepaliveSeconds);
  if (peer.allowedIps === undefined || peer.allowedIps.length === 0) return;
  const list = writer.nest(WGPEER.ALLOWEDIPS);
  for (const text of peer.allowedIps) {
    const cidr = mustCidr(text);
    const entry = writer.nest(0);
    writer.attrU16(WGALLOWEDIP.FAMILY, kernelFamily(cidr.family));
    writer.attrBytes(WGALLOWEDIP.IPADDR, addressBytes(cidr));
    writer.attrU8(WGALLOWEDIP.CIDR_MASK, cidr.prefixLength);
    writer.endNest(entry);
  }
  writer.endNest(list);
}

/**
 * One message of a device. A device with many peers comes in several, and a peer with many networks goes on in the next
 * one: see {@link joinDevices}.
 */
export function decodeDevice(message: MessageReader): WireguardDevice {
  const device: { -readonly [K in keyof WireguardDevice]: WireguardDevice[K] } = {
    index: 0,
    name: "",
    port: 0,
    mark: 0,
    peers: [],
  };
  const attributes = message.attributes(GENL_BODY_BYTES);
  while (attributes.next())
    switch (attributes.type) {
      case WGDEVICE.IFINDEX:
        device.index = attributes.u32();
        break;
      case WGDEVICE.IFNAME:
        device.name = attributes.string();
        break;
      case WGDEVICE.PRIVATE_KEY:
        device.privateKey = keyText(attributes.bytes());
        break;
      case WGDEVICE.PUBLIC_KEY:
        device.publicKey = keyText(attributes.bytes());
        break;
      case WGDEVICE.LISTEN_PORT:
        device.port = attributes.u16();
        break;
      case WGDEVICE.FWMARK:
        device.mark = attributes.u32();
        break;
      case WGDEVICE.PEERS:
        device.peers = decodePeers(attributes.nested());
        break;
      default:
    }
  return device;
}

/** The device of all its messages; `undefined` for none. */
export function joinDevices(parts: readonly WireguardDevice[]): WireguardDevice | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  const peers = new Map<string, WireguardPeer>();
  for (const part of parts)
    for (const peer of part.peers) {
      const before = peers.get(peer.publicKey);
      const allowedIps = [...(before?.allowedIps ?? []), ...peer.allowedIps];
      peers.set(peer.publicKey, before === undefined ? peer : { ...before, allowedIps });
    }
  return { ...first, peers: [...peers.values()] };
}

function decodePeers(list: AttributeReader): WireguardPeer[] {
  const peers: WireguardPeer[] = [];
  while (list.next()) peers.push(decodePeer(list.nested()));
  return peers;
}

function decodePeer(attributes: AttributeReader): WireguardPeer {
  const allowedIps: string[] = [];
  const peer: { -readonly [K in keyof WireguardPeer]: WireguardPeer[K] } = {
    publicKey: "",
    allowedIps,
    keepaliveSeconds: 0,
    lastHandshakeSeconds: 0,
    receivedBytes: 0n,
    sentBytes: 0n,
  };
  while (attributes.next())
    switch (attributes.type) {
      case WGPEER.PUBLIC_KEY:
        peer.publicKey = keyText(attributes.bytes());
        break;
      case WGPEER.ENDPOINT: {
        const endpoint = endpointText(attributes.bytes());
        if (endpoint !== undefined) peer.endpoint = endpoint;
        break;
      }
      case WGPEER.KEEPALIVE:
        peer.keepaliveSeconds = attributes.u16();
        break;
      // `struct __kernel_timespec`: seconds, then nanoseconds.
      case WGPEER.LAST_HANDSHAKE:
        peer.lastHandshakeSeconds = Number(attributes.u64());
        break;
      case WGPEER.RX_BYTES:
        peer.receivedBytes = attributes.u64();
        break;
      case WGPEER.TX_BYTES:
        peer.sentBytes = attributes.u64();
        break;
      case WGPEER.ALLOWEDIPS: {
        const list = attributes.nested();
        while (list.next()) {
          const cidr = decodeAllowedIp(list.nested());
          if (cidr !== undefined) allowedIps.push(cidr);
        }
        break;
      }
      default:
    }
  return peer;
}

function decodeAllowedIp(attributes: AttributeReader): string | undefined {
  let address: string | undefined;
  let length = 0;
  while (attributes.next())
    if (attributes.type === WGALLOWEDIP.IPADDR) address = addressText(attributes.bytes());
    else if (attributes.type === WGALLOWEDIP.CIDR_MASK) length = attributes.u8();
  return address === undefined ? undefined : `${address}/${length}`;
}

function keyBytes(key: string): Uint8Array {
  const bytes = Buffer.from(key, "base64");
  // Not its text: half of it is secret.
  if (bytes.length !== KEY_BYTES || bytes.toString("base64") !== key) throw badArgument("WireGuard key", "...");
  return bytes;
}

function keyText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

function endpointBytes(endpoint: string): Uint8Array {
  const parts = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(endpoint);
  const address = parseAddress(parts?.[1] ?? parts?.[2] ?? "");
  const port = Number(parts?.[3] ?? 0);
  if (address === undefined || port < 1 || port > 0xffff) throw badArgument("WireGuard endpoint", endpoint);
  const bytes = new Uint8Array(SOCKADDR_BYTES[address.family]);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, kernelFamily(address.family), true);
  view.setUint16(2, port, false);
  bytes.set(addressBytes(address), address.family === 4 ? 4 : 8);
  return bytes;
}

function endpointText(bytes: Uint8Array): string | undefined {
  if (bytes.length < SOCKADDR_BYTES[4]) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const family = view.getUint16(0, true);
  const port = view.getUint16(2, false);
  if (family === AF_INET) return `${addressText(bytes.subarray(4, 8))}:${port}`;
  if (family !== AF_INET6 || bytes.length < SOCKADDR_BYTES[6]) return undefined;
  const address = parseAddress(addressText(bytes.subarray(8, 24)) ?? "");
  return address === undefined ? undefined : `[${formatAddress(address)}]:${port}`;
}
