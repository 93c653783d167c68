import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { NFGEN_BYTES, writeNfgen } from "../message/nfgen.ts";
import { NLM_F } from "../message/header.ts";
import type { LogPacket } from "./log-packet.ts";
import { readHeaders } from "./packet-headers.ts";

/** NFNL_SUBSYS_ULOG (4) in the high byte; enum nfulnl_msg_types, linux/netfilter/nfnetlink_log.h */
const NFULNL_MSG_PACKET = (4 << 8) | 0;
const NFULNL_MSG_CONFIG = (4 << 8) | 1;

/** enum nfulnl_attr_type */
const NFULA = { PACKET_HDR: 1, MARK: 2, IFINDEX_INDEV: 4, IFINDEX_OUTDEV: 5, PAYLOAD: 9, PREFIX: 10 } as const;

/** enum nfulnl_attr_config, enum nfulnl_msg_config_cmds and the copy modes. */
const NFULA_CFG = { CMD: 1, MODE: 2, TIMEOUT: 4, QTHRESH: 5 } as const;
const NFULNL_CFG_CMD_BIND = 1;
const NFULNL_COPY_PACKET = 2;

/** Packets that the kernel saves up for one datagram, and hundredths of a second that it waits for them. */
const BATCH_PACKETS = 16;
const BATCH_WAIT = 5;

/**
 * The request that takes a group for this socket, with what comes along of each packet. One message: answered with
 * EPERM, and nothing is taken, when another socket of the namespace has the group.
 */
export function writeBindGroup(writer: MessageWriter, seq: number, group: number, snapBytes: number): void {
  writer.message(NFULNL_MSG_CONFIG, NLM_F.REQUEST | NLM_F.ACK, seq);
  writeNfgen(writer, 0, group);
  writer.attrBytes(NFULA_CFG.CMD, new Uint8Array([NFULNL_CFG_CMD_BIND]));
  // struct nfulnl_msg_config_mode: be32 range, u8 mode, u8 padding.
  const mode = new Uint8Array(6);
  new DataView(mode.buffer).setUint32(0, snapBytes);
  mode[4] = NFULNL_COPY_PACKET;
  writer.attrBytes(NFULA_CFG.MODE, mode);
  writer.attrBytes(NFULA_CFG.TIMEOUT, be32(BATCH_WAIT));
  writer.attrBytes(NFULA_CFG.QTHRESH, be32(BATCH_PACKETS));
  writer.endMessage();
}

/** The packet that the reader stands at; `undefined` for other messages, and for what is no IP packet. */
export function decodeLogPacket(message: MessageReader): LogPacket | undefined {
  if (message.type !== NFULNL_MSG_PACKET) return undefined;
  // struct nfgenmsg: the group is its res_id, in network order.
  const group = (message.u8(2) << 8) | message.u8(3);
  let hook = 0;
  let mark = 0;
  let prefix = "";
  let inDevice: number | undefined;
  let outDevice: number | undefined;
  let headers: ReturnType<typeof readHeaders>;
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next())
    switch (attributes.type) {
      case NFULA.PACKET_HDR:
        // struct nfulnl_msg_packet_hdr: be16 hw_protocol, u8 hook.
        attributes.u16be();
        hook = attributes.bytes()[2] ?? 0;
        break;
      case NFULA.MARK:
        mark = attributes.u32be();
        break;
      case NFULA.IFINDEX_INDEV:
        inDevice = attributes.u32be();
        break;
      case NFULA.IFINDEX_OUTDEV:
        outDevice = attributes.u32be();
        break;
      case NFULA.PREFIX:
        prefix = attributes.string();
        break;
      case NFULA.PAYLOAD:
        headers = readHeaders(attributes.bytes());
        break;
      default:
    }
  if (headers === undefined) return undefined;
  return {
    group,
    prefix,
    hook,
    mark,
    ...(inDevice === undefined ? {} : { inDevice }),
    ...(outDevice === undefined ? {} : { outDevice }),
    ...headers,
  };
}

function be32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}
