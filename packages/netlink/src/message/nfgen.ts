import type { MessageWriter } from "./message-writer.ts";

/** Size of `struct nfgenmsg` (linux/netfilter/nfnetlink.h), the fixed part of every message of NETLINK_NETFILTER. */
export const NFGEN_BYTES = 4;

/** `struct nfgenmsg`: family, version 0, resource id (the subsystem in a batch's first and last message). */
export function writeNfgen(writer: MessageWriter, family: number, resource = 0): void {
  writer.u8(family);
  writer.u8(0);
  writer.u16be(resource);
}
