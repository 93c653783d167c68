import { NETLINK_ERROR_CODES, NetlinkError } from "../errors.ts";
import { errnoName } from "../system/errno.ts";
import { AttributeReader } from "./attribute-reader.ts";
import { align4, NLM_F, NLMSG_HEADER_BYTES } from "./header.ts";
import type { MessageReader } from "./message-reader.ts";

/** What an NLMSG_ERROR message says. `errno` 0 is an acknowledgement. */
export interface KernelAnswer {
  readonly seq: number;
  /** Positive. */
  readonly errno: number;
  readonly extAck?: string;
  readonly offset?: number;
}

/** enum nlmsgerr_attrs, linux/netlink.h */
const NLMSGERR_ATTR_MSG = 1;
const NLMSGERR_ATTR_OFFS = 2;

/** Reads the NLMSG_ERROR message that the reader stands at. */
export function decodeKernelAnswer(message: MessageReader): KernelAnswer {
  const errno = 0 - message.i32(0);
  if (errno === 0 || (message.flags & NLM_F.ACK_TLVS) === 0) return { seq: message.seq, errno };
  message.need(4 + NLMSG_HEADER_BYTES);
  // The refused message is repeated whole, unless the answer is capped; the attributes stand behind it.
  const repeated = (message.flags & NLM_F.CAPPED) !== 0 ? NLMSG_HEADER_BYTES : message.u32(4);
  message.need(4 + repeated);
  const attributes = new AttributeReader(message.view, message.bodyStart + 4 + align4(repeated), message.bodyEnd);
  let extAck: string | undefined;
  let offset: number | undefined;
  while (attributes.next()) {
    if (attributes.type === NLMSGERR_ATTR_MSG) extAck = attributes.string();
    else if (attributes.type === NLMSGERR_ATTR_OFFS) offset = attributes.u32();
  }
  return {
    seq: message.seq,
    errno,
    ...(extAck === undefined ? {} : { extAck }),
    ...(offset === undefined ? {} : { offset }),
  };
}

/** The error that a refusal becomes. */
export function refusal(op: string, answer: KernelAnswer): NetlinkError {
  const name = errnoName(answer.errno);
  const why = answer.extAck === undefined ? name : `${name}: ${answer.extAck}`;
  return new NetlinkError(`${op} refused: ${why}`, {
    code: NETLINK_ERROR_CODES.refused,
    op,
    errno: answer.errno,
    errnoName: name,
    seq: answer.seq,
    ...(answer.extAck === undefined ? {} : { extAck: answer.extAck }),
    ...(answer.offset === undefined ? {} : { offset: answer.offset }),
  });
}
