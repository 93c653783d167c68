import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { addressBytes } from "@bulrush/ip";
import { AF_BRIDGE, AF_INET, AF_INET6, NEIGHBOUR_BODY_BYTES } from "./constants.ts";
import type { Neighbour } from "./neighbour.ts";
import { addressText, badArgument, kernelFamily, macBytes, macText, mustAddress } from "./text-codec.ts";

/** linux/neighbour.h */
const NDA = { DST: 1, LLADDR: 2, IFINDEX: 8 } as const;
const NUD_PERMANENT = 0x80;
const NTF_SELF = 2;
const NTF_PROXY = 8;

/** `struct ndmsg` of a dump request. The strict check wants the index as an attribute, but for the bridge in the body. */
export function writeNeighbourFilter(writer: MessageWriter, family: number, device: number): void {
  writeBody(writer, family, 0, 0, 0);
  if (device !== 0 && family !== AF_BRIDGE) writer.attrU32(NDA.IFINDEX, device);
}

export function writeNeighbour(writer: MessageWriter, neighbour: Neighbour): void {
  if (neighbour.device <= 0) throw badArgument("interface index", neighbour.device);
  const address = neighbour.address === undefined ? undefined : mustAddress(neighbour.address);
  const forwarding = neighbour.forwarding === true;
  if (!forwarding && address === undefined) throw badArgument("neighbour without address", "");
  if (forwarding && neighbour.mac === undefined) throw badArgument("forwarding entry without MAC address", "");
  const family = forwarding || address === undefined ? AF_BRIDGE : kernelFamily(address.family);
  writeBody(writer, family, neighbour.device, neighbour.state ?? NUD_PERMANENT, forwarding ? NTF_SELF : 0);
  if (address !== undefined) writer.attrBytes(NDA.DST, addressBytes(address));
  if (neighbour.mac !== undefined) writer.attrBytes(NDA.LLADDR, macBytes(neighbour.mac));
}

/** `undefined` for what is neither a neighbour of IPv4 or IPv6 nor a forwarding entry, and for proxy entries. */
export function decodeNeighbour(message: MessageReader): Neighbour | undefined {
  const family = message.u8(0);
  if (family !== AF_INET && family !== AF_INET6 && family !== AF_BRIDGE) return undefined;
  if ((message.u8(10) & NTF_PROXY) !== 0) return undefined;
  const neighbour: { -readonly [K in keyof Neighbour]: Neighbour[K] } = {
    device: message.i32(4),
    state: message.u16(8),
  };
  if (family === AF_BRIDGE) neighbour.forwarding = true;
  const attributes = message.attributes(NEIGHBOUR_BODY_BYTES);
  while (attributes.next()) {
    if (attributes.type === NDA.DST) {
      const address = addressText(attributes.bytes());
      if (address !== undefined) neighbour.address = address;
    } else if (attributes.type === NDA.LLADDR) {
      const mac = macText(attributes.bytes());
      if (mac !== undefined) neighbour.mac = mac;
    }
  }
  return neighbour;
}

function writeBody(writer: MessageWriter, family: number, device: number, state: number, flags: number): void {
  writer.u8(family);
  writer.u8(0);
  writer.u16(0);
  writer.u32(device);
  writer.u16(state);
  writer.u8(flags);
  writer.u8(0);
}
