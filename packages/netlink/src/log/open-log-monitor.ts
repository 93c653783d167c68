import { writeSync } from "node:fs";
import { NETLINK_ERROR_CODES, NetlinkError } from "../errors.ts";
import { NETLINK_NETFILTER, NLMSG } from "../message/header.ts";
import { decodeKernelAnswer, refusal } from "../message/kernel-answer.ts";
import { MessageReader } from "../message/message-reader.ts";
import { MessageWriter } from "../message/message-writer.ts";
import { openMonitor } from "../socket/open-monitor.ts";
import { receiveNow } from "../system/socket-fd.ts";
import { decodeLogPacket, writeBindGroup } from "./log-codec.ts";
import type { LogMonitor, LogMonitorOptions, LogPacket } from "./log-packet.ts";

const SNAP_BYTES = 128;
const RECEIVE_BUFFER_BYTES = 1024 * 1024;

/**
 * Takes packet log groups of a namespace. It holds one thread of libuv's pool while it lives. Throws NETLINK_REFUSED when
 * a group is another program's (EPERM), or the kernel has no packet log.
 */
export function openLogMonitor(options: LogMonitorOptions): LogMonitor {
  let packets: LogPacket[] = [];
  const monitor = openMonitor({
    protocol: NETLINK_NETFILTER,
    groups: 0,
    receiveBufferBytes: options.receiveBufferBytes ?? RECEIVE_BUFFER_BYTES,
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    subscribe: (fd) => {
      for (const group of options.groups) bindGroup(fd, group, options.snapBytes ?? SNAP_BYTES);
    },
    onDatagram(reader) {
      while (reader.next()) {
        const packet = decodeLogPacket(reader);
        if (packet !== undefined) packets.push(packet);
      }
    },
    onBurst(lost) {
      const burst = packets;
      packets = [];
      if (burst.length > 0) options.onPackets(burst);
      if (lost && !monitor.isClosing) options.onLost();
    },
    onError: options.onError,
  });
  return { close: () => monitor.close() };
}

function bindGroup(fd: number, group: number, snapBytes: number): void {
  const op = `Take packet log group ${group}`;
  const writer = new MessageWriter(64);
  writeBindGroup(writer, group, group, snapBytes);
  writeSync(fd, writer.bytes);
  const buffer = new Uint8Array(64 * 1024);
  // The answer lies ready. Packets of groups that were taken before it may lie ahead; they are only a log.
  for (;;) {
    const length = receiveNow(fd, buffer);
    if (length < 0) throw new NetlinkError(`${op} failed: no answer`, { code: NETLINK_ERROR_CODES.noAnswer, op });
    const reader = new MessageReader(buffer, length);
    while (reader.next()) {
      if (reader.type !== NLMSG.ERROR) continue;
      const answer = decodeKernelAnswer(reader);
      if (answer.errno !== 0) throw refusal(op, answer);
      return;
    }
  }
}
