import { read, writeSync } from "node:fs";
import { hasCode } from "@bulrush/base";
import { NETLINK_ERROR_CODES, type NetlinkError } from "../errors.ts";
import { NLM_F, NLMSG } from "../message/header.ts";
import { MessageReader } from "../message/message-reader.ts";
import { MessageWriter } from "../message/message-writer.ts";
import type { NamespaceRef } from "../namespace.ts";
import { errnoName, errnoOf, systemError } from "../system/errno.ts";
import {
  bindFd,
  closeFd,
  growBuffer,
  openSocketFd,
  receiveNow,
  SOCKET,
  setReceiveTimeout,
  trySetOption,
} from "../system/socket-fd.ts";
import { sockaddrNetlink } from "./netlink-socket.ts";

/** linux/socket.h, linux/netlink.h */
const SOL_NETLINK = 270;
const NETLINK_ADD_MEMBERSHIP = 1;
const NETLINK_DROP_MEMBERSHIP = 2;

const RECEIVE_BUFFER_BYTES = 8 * 1024 * 1024;
/** How long a read sleeps at most. Shutdown wakes it at once; this is for the case that the wake-up is lost. */
const READ_TIMEOUT_MS = 1000;
/** Datagrams taken in one go before the callback runs and the event loop turns. */
const BURST_DATAGRAMS = 512;
/** The same after an overrun: more than the receive buffer can hold. */
const DRAIN_DATAGRAMS = 1_000_000;
/** The largest datagram that the kernel makes for a notice. */
const DATAGRAM_BYTES = 64 * 1024;

export interface MonitorOptions {
  /** NETLINK_ROUTE, NETLINK_NETFILTER. */
  readonly protocol: number;
  /** Multicast groups from the start, a bit each (the first 32); 0 for none. */
  readonly groups: number;
  /** Path or open file descriptor of the namespace to watch. Default: the calling thread's. */
  readonly namespace?: NamespaceRef;
  /** Wanted receive buffer in bytes; what is granted may be less. Default 8 MiB. */
  readonly receiveBufferBytes?: number;
  /** Requests on the same socket before anything is read, each answered: subscriptions that are no multicast groups. */
  readonly subscribe?: (fd: number) => void;
  /** One datagram. NETLINK_MALFORMED counts as lost. The reader's buffer is used again. */
  readonly onDatagram: (reader: MessageReader) => void;
  /** After each burst. `lost`: some did not fit into the buffer, or could not be read. */
  readonly onBurst: (lost: boolean) => void;
  /** The monitor has ended by itself. */
  readonly onError: (error: NetlinkError) => void;
}

/** A socket that only listens. */
export interface NetlinkMonitor {
  /** True from the call of `close` on. */
  readonly isClosing: boolean;
  /** Joins or leaves a multicast group, by its number (not its bit). False when the kernel refuses. */
  setMember(group: number, joined: boolean): boolean;
  /** Stops at once; no callback comes after it. Resolves when the file descriptor is closed. */
  close(): Promise<void>;
}

/**
 * Opens a monitor. It holds one thread of libuv's pool while it lives, asleep in a blocking read: `net.Socket` and
 * friends refuse netlink sockets.
 *
 *     fs.read (blocks in the pool) ──datagram──> drain what else lies ready (recv, not blocking) ──> onBurst ──> fs.read
 *          ^                                        │ ENOBUFS: notices were lost ──> drain to the end ──> onBurst(true)
 *          └── close(): a NOOP request written to the same socket is acknowledged, which wakes the read
 *
 * Callbacks run on the thread that opened it, never from inside `open` or `close`, in the kernel's order.
 */
export function openMonitor(options: MonitorOptions): NetlinkMonitor {
  const fd = openMonitorFd(options);
  const buffer = Buffer.allocUnsafeSlow(DATAGRAM_BYTES);
  let closing = false;
  const closed = Promise.withResolvers<void>();

  function readNext(): void {
    read(fd, buffer, 0, DATAGRAM_BYTES, null, (error, length) => onRead(error, length));
  }

  function onRead(error: Error | null, length: number): void {
    if (closing) {
      finish();
      return;
    }
    let lost = false;
    let fatal: NetlinkError | undefined;
    const take = (errno: number, bytes: number): boolean => {
      const name = errno === 0 ? "" : errnoName(errno);
      if (name === "EAGAIN" || name === "EINTR") return false;
      if (name === "ENOBUFS") lost = true;
      else if (errno !== 0) fatal = systemError("Read events", errno);
      else if (!isRead(options, buffer, bytes)) lost = true;
      return fatal === undefined;
    };
    let more = take(error === null ? 0 : errnoOf(error) || -1, length);
    // After an overrun the kernel drops every notice until the queue is empty: only then is a listing worth anything.
    for (let i = 0; more && i < (lost ? DRAIN_DATAGRAMS : BURST_DATAGRAMS); i++) {
      const got = receiveNow(fd, buffer);
      more = take(got < 0 ? -got : 0, got);
    }
    options.onBurst(lost);
    // A callback may have closed the monitor.
    if (fatal !== undefined && !isClosing()) {
      closing = true;
      finish();
      options.onError(fatal);
      return;
    }
    if (isClosing()) finish();
    else readNext();
  }

  function isClosing(): boolean {
    return closing;
  }

  function finish(): void {
    closeFd(fd);
    closed.resolve();
  }

  readNext();
  return {
    get isClosing() {
      return closing;
    },
    setMember: (group, joined) =>
      trySetOption(fd, SOL_NETLINK, joined ? NETLINK_ADD_MEMBERSHIP : NETLINK_DROP_MEMBERSHIP, group) === 0,
    close() {
      if (!closing) {
        closing = true;
        wake(fd);
      }
      return closed.promise;
    },
  };
}

function openMonitorFd(options: MonitorOptions): number {
  const fd = openSocketFd({
    domain: 16, // AF_NETLINK
    type: SOCKET.SOCK_RAW,
    protocol: options.protocol,
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
  });
  try {
    growBuffer(fd, "receive", options.receiveBufferBytes ?? RECEIVE_BUFFER_BYTES);
    setReceiveTimeout(fd, READ_TIMEOUT_MS);
    bindFd(fd, sockaddrNetlink(options.groups));
    options.subscribe?.(fd);
  } catch (error) {
    closeFd(fd);
    throw error;
  }
  return fd;
}

/** False when the datagram cannot be read: what it said is as good as lost. */
function isRead({ onDatagram }: MonitorOptions, buffer: Uint8Array, length: number): boolean {
  try {
    onDatagram(new MessageReader(buffer, length));
    return true;
  } catch (error) {
    if (hasCode(error, NETLINK_ERROR_CODES.malformed)) return false;
    throw error;
  }
}

function wake(fd: number): void {
  const writer = new MessageWriter(16);
  writer.message(NLMSG.NOOP, NLM_F.REQUEST | NLM_F.ACK, 1);
  writer.endMessage();
  try {
    writeSync(fd, writer.bytes);
  } catch {
    // The read times out by itself.
  }
}
