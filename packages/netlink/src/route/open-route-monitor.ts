import { read, writeSync } from "node:fs";
import { hasCode } from "@bulrush/base";
import { NETLINK_ERROR_CODES, type NetlinkError } from "../errors.ts";
import { NETLINK_ROUTE, NLM_F, NLMSG } from "../message/header.ts";
import { MessageReader } from "../message/message-reader.ts";
import { MessageWriter } from "../message/message-writer.ts";
import { sockaddrNetlink } from "../socket/netlink-socket.ts";
import { errnoName, errnoOf, systemError } from "../system/errno.ts";
import {
  bindFd,
  closeFd,
  growBuffer,
  openSocketFd,
  receiveNow,
  SOCKET,
  setReceiveTimeout,
} from "../system/socket-fd.ts";
import { decodeRouteEvent } from "./event-codec.ts";
import type { MonitorGroup, RouteEvent, RouteMonitor, RouteMonitorOptions } from "./route-monitor.ts";

const AF_NETLINK = 16;
/** enum rtnetlink_groups, linux/rtnetlink.h, as bits of the address. */
const GROUPS: Readonly<Record<MonitorGroup, number>> = {
  links: 1 << 0,
  neighbours: 1 << 2,
  addresses: (1 << 4) | (1 << 8),
  routes: (1 << 6) | (1 << 10),
};

const RECEIVE_BYTES = 32 * 1024;
const RECEIVE_BUFFER_BYTES = 8 * 1024 * 1024;
/** How long a read sleeps at most. Shutdown wakes it at once; this is for the case that the wake-up is lost. */
const READ_TIMEOUT_MS = 1000;
/** Datagrams taken in one go before the callback runs and the event loop turns. */
const BURST_DATAGRAMS = 512;
/** The same after an overrun: more than the receive buffer can hold. */
const DRAIN_DATAGRAMS = 1_000_000;

/**
 * Opens a monitor. It holds one thread of libuv's pool while it lives, asleep in a blocking read: `net.Socket` and
 * friends refuse netlink sockets.
 *
 *     fs.read (blocks in the pool) ──datagram──> drain what else lies ready (recv, not blocking) ──> onEvents ──> fs.read
 *          ^                                        │ ENOBUFS: events were lost ──> drain to the end ──> onResync
 *          └── close(): a NOOP request written to the same socket is acknowledged, which wakes the read
 */
export function openRouteMonitor(options: RouteMonitorOptions): RouteMonitor {
  const fd = openMonitorFd(options);
  const buffer = Buffer.allocUnsafeSlow(RECEIVE_BYTES);
  let closing = false;
  const closed = Promise.withResolvers<void>();

  function readNext(): void {
    read(fd, buffer, 0, RECEIVE_BYTES, null, (error, length) => onRead(error, length));
  }

  function onRead(error: Error | null, length: number): void {
    if (closing) {
      finish();
      return;
    }
    const events: RouteEvent[] = [];
    let lost = false;
    let fatal: NetlinkError | undefined;
    const take = (errno: number, bytes: number): boolean => {
      const name = errno === 0 ? "" : errnoName(errno);
      if (name === "EAGAIN" || name === "EINTR") return false;
      if (name === "ENOBUFS") lost = true;
      else if (errno !== 0) fatal = systemError("Read events", errno);
      else if (!decodeInto(events, buffer, bytes)) lost = true;
      return fatal === undefined;
    };
    let more = take(error === null ? 0 : errnoOf(error) || -1, length);
    // After an overrun the kernel drops every event until the queue is empty: only then is a listing worth anything.
    for (let i = 0; more && i < (lost ? DRAIN_DATAGRAMS : BURST_DATAGRAMS); i++) {
      const got = receiveNow(fd, buffer);
      more = take(got < 0 ? -got : 0, got);
    }
    if (events.length > 0) options.onEvents(events);
    // A callback may have closed the monitor.
    if (lost && !isClosing()) options.onResync();
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

  function close(): Promise<void> {
    if (!closing) {
      closing = true;
      wake(fd);
    }
    return closed.promise;
  }

  readNext();
  return { close };
}

function openMonitorFd(options: RouteMonitorOptions): number {
  let groups = 0;
  for (const group of options.groups) groups |= GROUPS[group];
  const fd = openSocketFd({
    domain: AF_NETLINK,
    type: SOCKET.SOCK_RAW,
    protocol: NETLINK_ROUTE,
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
  });
  try {
    growBuffer(fd, "receive", RECEIVE_BUFFER_BYTES);
    setReceiveTimeout(fd, READ_TIMEOUT_MS);
    bindFd(fd, sockaddrNetlink(groups));
  } catch (error) {
    closeFd(fd);
    throw error;
  }
  return fd;
}

/** False when the datagram cannot be read: what it said is as good as lost. */
function decodeInto(events: RouteEvent[], buffer: Uint8Array, length: number): boolean {
  try {
    const reader = new MessageReader(buffer, length);
    while (reader.next()) {
      const event = decodeRouteEvent(reader);
      if (event !== undefined) events.push(event);
    }
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
