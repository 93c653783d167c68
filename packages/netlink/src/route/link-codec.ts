import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { AF_UNSPEC, LINK_BODY_BYTES } from "./constants.ts";
import type { Link, LinkChange, PlainLink, VethPair } from "./link.ts";
import { badArgument, macBytes, macText } from "./text-codec.ts";
import type { VxlanLink } from "./vxlan.ts";
import { decodeVxlanData, writeVxlanData } from "./vxlan-codec.ts";

/** linux/if_link.h */
const IFLA = { ADDRESS: 1, IFNAME: 3, MTU: 4, LINK: 5, MASTER: 10, LINKINFO: 18, NET_NS_FD: 28 } as const;
const IFLA_INFO = { KIND: 1, DATA: 2 } as const;
const VETH_INFO_PEER = 1;

/** linux/if.h */
const IFF_UP = 1;
const IFF_RUNNING = 0x40;
/** Including the NUL. */
const IFNAMSIZ = 16;

/** `struct ifinfomsg`. */
export function writeLinkBody(writer: MessageWriter, index = 0, flags = 0, change = 0): void {
  writer.u8(AF_UNSPEC);
  writer.u8(0);
  writer.u16(0);
  writer.u32(index);
  writer.u32(flags);
  writer.u32(change);
}

/** Body of a request about one link, by index or by name. */
export function writeLinkSelector(writer: MessageWriter, which: number | string): void {
  writeLinkBody(writer, typeof which === "number" ? which : 0);
  if (typeof which === "string") writeName(writer, which);
}

export function writeVeth(writer: MessageWriter, veth: VethPair): void {
  writeLinkBody(writer, 0, veth.up === true ? IFF_UP : 0, veth.up === true ? IFF_UP : 0);
  writeName(writer, veth.name);
  writeCommon(writer, veth);
  const info = writer.nest(IFLA.LINKINFO);
  writer.attrString(IFLA_INFO.KIND, "veth");
  const data = writer.nest(IFLA_INFO.DATA);
  const peer = writer.nest(VETH_INFO_PEER);
  writeLinkBody(writer);
  writeName(writer, veth.peer.name);
  writeCommon(writer, veth.peer);
  if (veth.peer.namespaceFd !== undefined) writer.attrU32(IFLA.NET_NS_FD, veth.peer.namespaceFd);
  writer.endNest(peer);
  writer.endNest(data);
  writer.endNest(info);
}

export function writePlainLink(writer: MessageWriter, link: PlainLink): void {
  writeLinkBody(writer, 0, link.up === true ? IFF_UP : 0, link.up === true ? IFF_UP : 0);
  writeName(writer, link.name);
  writeCommon(writer, link);
  const info = writer.nest(IFLA.LINKINFO);
  writer.attrString(IFLA_INFO.KIND, link.kind);
  writer.endNest(info);
}

export function writeVxlan(writer: MessageWriter, vxlan: VxlanLink): void {
  writeLinkBody(writer, 0, vxlan.up === true ? IFF_UP : 0, vxlan.up === true ? IFF_UP : 0);
  writeName(writer, vxlan.name);
  writeCommon(writer, vxlan);
  const info = writer.nest(IFLA.LINKINFO);
  writer.attrString(IFLA_INFO.KIND, "vxlan");
  const data = writer.nest(IFLA_INFO.DATA);
  writeVxlanData(writer, vxlan);
  writer.endNest(data);
  writer.endNest(info);
}

/** Body that changes a link. A new name needs the link's index, since the name says which link otherwise. */
export function writeLinkChange(writer: MessageWriter, which: number | string, change: LinkChange): void {
  const flags = change.up === true ? IFF_UP : 0;
  writeLinkBody(writer, typeof which === "number" ? which : 0, flags, change.up === undefined ? 0 : IFF_UP);
  if (typeof which === "string") {
    if (change.name !== undefined) throw badArgument("rename by name, an index is needed:", which);
    writeName(writer, which);
  } else if (change.name !== undefined) writeName(writer, change.name);
  writeCommon(writer, change);
  if (change.master !== undefined) writer.attrU32(IFLA.MASTER, change.master);
  if (change.namespaceFd !== undefined) writer.attrU32(IFLA.NET_NS_FD, change.namespaceFd);
}

export function decodeLink(message: MessageReader): Link {
  const flags = message.u32(8);
  const link: { -readonly [K in keyof Link]: Link[K] } = {
    index: message.i32(4),
    name: "",
    up: (flags & IFF_UP) !== 0,
    running: (flags & IFF_RUNNING) !== 0,
    flags,
    mtu: 0,
  };
  const attributes = message.attributes(LINK_BODY_BYTES);
  while (attributes.next()) {
    switch (attributes.type) {
      case IFLA.IFNAME:
        link.name = attributes.string();
        break;
      case IFLA.MTU:
        link.mtu = attributes.u32();
        break;
      case IFLA.ADDRESS: {
        const mac = macText(attributes.bytes());
        if (mac !== undefined) link.mac = mac;
        break;
      }
      case IFLA.LINK:
        link.parent = attributes.i32();
        break;
      case IFLA.MASTER:
        link.master = attributes.u32();
        break;
      case IFLA.LINKINFO: {
        const info = attributes.nested();
        // The kind comes first (rtnl_link_info_fill).
        while (info.next())
          if (info.type === IFLA_INFO.KIND) link.kind = info.string();
          else if (info.type === IFLA_INFO.DATA && link.kind === "vxlan") link.vxlan = decodeVxlanData(info.nested());
        break;
      }
    }
  }
  return link;
}

function writeCommon(writer: MessageWriter, link: { readonly mac?: string; readonly mtu?: number }): void {
  if (link.mac !== undefined) writer.attrBytes(IFLA.ADDRESS, macBytes(link.mac));
  if (link.mtu !== undefined) writer.attrU32(IFLA.MTU, link.mtu);
}

function writeName(writer: MessageWriter, name: string): void {
  if (name === "" || Buffer.byteLength(name) >= IFNAMSIZ) throw badArgument("interface name", name);
  writer.attrString(IFLA.IFNAME, name);
}
