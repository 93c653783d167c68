import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import type { InterfaceAddress } from "./address.ts";
import { ADDRESS_BODY_BYTES } from "./constants.ts";
import { scopeName, scopeNumber } from "./scope.ts";
import { addressBytesOf, addressText, badArgument, kernelFamily, mustCidr } from "./text-codec.ts";
import { addressBytes } from "@bulrush/ip";

/** linux/if_addr.h */
const IFA = { ADDRESS: 1, LOCAL: 2, FLAGS: 8, PROTO: 11 } as const;
const IFA_F = { NODAD: 0x02, NOPREFIXROUTE: 0x200 } as const;

/** `struct ifaddrmsg` of a dump request. */
export function writeAddressFilter(writer: MessageWriter, family: number, device: number): void {
  writer.u8(family);
  writer.u8(0);
  writer.u8(0);
  writer.u8(0);
  writer.u32(device);
}

export function writeAddress(writer: MessageWriter, address: InterfaceAddress): void {
  const cidr = mustCidr(address.address);
  if (address.device <= 0) throw badArgument("interface index", address.device);
  writer.u8(kernelFamily(cidr.family));
  writer.u8(cidr.prefixLength);
  writer.u8(0);
  writer.u8(scopeNumber(address.scope ?? "universe"));
  writer.u32(address.device);
  const bytes = addressBytes(cidr);
  writer.attrBytes(IFA.LOCAL, bytes);
  writer.attrBytes(IFA.ADDRESS, address.peer === undefined ? bytes : addressBytesOf(address.peer));
  const noDad = address.noDad === true && cidr.family === 6 ? IFA_F.NODAD : 0;
  const flags = noDad | (address.noPrefixRoute === true ? IFA_F.NOPREFIXROUTE : 0);
  if (flags !== 0) writer.attrU32(IFA.FLAGS, flags);
  if (address.protocol !== undefined) writer.attrU8(IFA.PROTO, address.protocol);
}

/** `undefined` for an address of a family other than IPv4 and IPv6. */
export function decodeAddress(message: MessageReader): InterfaceAddress | undefined {
  const prefixLength = message.u8(1);
  let flags = message.u8(2);
  const scope = scopeName(message.u8(3));
  const device = message.u32(4);
  let address: string | undefined;
  let local: string | undefined;
  let protocol: number | undefined;
  const attributes = message.attributes(ADDRESS_BODY_BYTES);
  while (attributes.next()) {
    if (attributes.type === IFA.ADDRESS) address = addressText(attributes.bytes());
    else if (attributes.type === IFA.LOCAL) local = addressText(attributes.bytes());
    else if (attributes.type === IFA.FLAGS) flags = attributes.u32();
    else if (attributes.type === IFA.PROTO) protocol = attributes.u8();
  }
  const own = local ?? address;
  if (own === undefined) return undefined;
  const peer = address !== undefined && address !== own ? { peer: address } : {};
  const author = protocol === undefined ? {} : { protocol };
  return { device, address: `${own}/${prefixLength}`, scope, flags, ...peer, ...author };
}
