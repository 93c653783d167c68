import { addressBytes } from "@bulrush/ip";
import type { AttributeReader } from "../message/attribute-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { addressText, badArgument, mustAddress } from "./text-codec.ts";
import type { VxlanInfo, VxlanLink } from "./vxlan.ts";

/** linux/if_link.h */
const IFLA_VXLAN = {
  ID: 1,
  GROUP: 2,
  LINK: 3,
  LOCAL: 4,
  LEARNING: 7,
  L2MISS: 13,
  PORT: 15,
  GROUP6: 16,
  LOCAL6: 17,
  GBP: 23,
  COLLECT_METADATA: 25,
} as const;

const MAX_VNI = 0xffffff;

/** The attributes of IFLA_INFO_DATA. */
export function writeVxlanData(writer: MessageWriter, vxlan: VxlanLink): void {
  if (!(vxlan.vni >= 0 && vxlan.vni <= MAX_VNI)) throw badArgument("VXLAN network identifier", vxlan.vni);
  writer.attrU32(IFLA_VXLAN.ID, vxlan.vni);
  if (vxlan.parent !== undefined) writer.attrU32(IFLA_VXLAN.LINK, vxlan.parent);
  if (vxlan.local !== undefined) {
    const local = mustAddress(vxlan.local);
    writer.attrBytes(local.family === 4 ? IFLA_VXLAN.LOCAL : IFLA_VXLAN.LOCAL6, addressBytes(local));
  }
  writer.attrU8(IFLA_VXLAN.LEARNING, vxlan.learning === true ? 1 : 0);
  writer.attrU16be(IFLA_VXLAN.PORT, vxlan.port);
}

export function decodeVxlanData(attributes: AttributeReader): VxlanInfo {
  const info: { -readonly [K in keyof VxlanInfo]: VxlanInfo[K] } = {
    vni: 0,
    port: 0,
    learning: false,
    l2miss: false,
    gbp: false,
    external: false,
  };
  while (attributes.next()) {
    switch (attributes.type) {
      case IFLA_VXLAN.ID:
        info.vni = attributes.u32();
        break;
      case IFLA_VXLAN.LINK:
        if (attributes.u32() !== 0) info.parent = attributes.u32();
        break;
      case IFLA_VXLAN.LOCAL:
      case IFLA_VXLAN.LOCAL6:
        info.local = addressText(attributes.bytes()) ?? "";
        break;
      case IFLA_VXLAN.GROUP:
      case IFLA_VXLAN.GROUP6:
        info.group = addressText(attributes.bytes()) ?? "";
        break;
      case IFLA_VXLAN.PORT:
        info.port = attributes.u16be();
        break;
      case IFLA_VXLAN.LEARNING:
        info.learning = attributes.u8() !== 0;
        break;
      case IFLA_VXLAN.L2MISS:
        info.l2miss = attributes.u8() !== 0;
        break;
      // Flags: their presence says it.
      case IFLA_VXLAN.GBP:
        info.gbp = true;
        break;
      case IFLA_VXLAN.COLLECT_METADATA:
        info.external = attributes.bytes().length === 0 || attributes.u8() !== 0;
        break;
    }
  }
  return info;
}
