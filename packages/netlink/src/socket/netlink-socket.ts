import { hasCode } from "@bulrush/base";
import { readSync, writeSync } from "node:fs";
import { NETLINK_ERROR_CODES, NetlinkError } from "../errors.ts";
import { NLM_F, NLMSG } from "../message/header.ts";
import { decodeKernelAnswer, type KernelAnswer, refusal } from "../message/kernel-answer.ts";
import { malformed } from "../message/malformed.ts";
import { MessageReader } from "../message/message-reader.ts";
import { MessageWriter } from "../message/message-writer.ts";
import type { NamespaceRef } from "../namespace.ts";
import { errnoName, errnoOf, systemError } from "../system/errno.ts";
import { bindFd, closeFd, growBuffer, openSocketFd, SOCKET, trySetOption } from "../system/socket-fd.ts";

/** All have defaults. */
export interface NetlinkSocketOptions {
  /** Where to open it. Default: the calling thread's namespace. */
  readonly namespace?: NamespaceRef;
  /** Have the kernel filter dumps by the request's fixed part and attributes (NETLINK_GET_STRICT_CHK). Default true. */
  readonly strictDumps?: boolean;
  /** Wanted buffer sizes in bytes; what is granted may be less. Defaults: 1 MiB and 4 MiB. */
  readonly sendBufferBytes?: number;
  readonly receiveBufferBytes?: number;
}

/** What became of requests that were sent together. */
export interface ExchangeResult {
  /** In the kernel's order; what is not among them was done, unless answers were lost. */
  readonly refusals: readonly KernelAnswer[];
  /** The receive buffer ran over: what became of some requests is not known. */
  readonly lost: boolean;
}

/** Sizes and option numbers of linux/netlink.h and linux/socket.h. */
const AF_NETLINK = 16;
const SOL_NETLINK = 270;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;
const NETLINK_GET_STRICT_CHK = 12;

/** The largest datagram that the kernel makes for a dump. */
const RECEIVE_BYTES = 32 * 1024;
/** netlink_sendmsg refuses what is not 32 bytes smaller than the send buffer. */
const SEND_OVERHEAD_BYTES = 32;
const DUMP_TRIES = 8;

/**
 * A netlink socket for synchronous requests. The kernel answers inside the write, so that every answer lies ready when
 * `send` returns and nothing here ever blocks.
 *
 * One thread, one request at a time: a callback must not use the socket it is called from. Errors leave the socket
 * usable, a receive overrun too; what was lost is the answer, so the caller reads back what it asked to change.
 *
 * Invariant: between calls no dump is under way and no answer is awaited; answers with an older sequence number than
 * the present request are dropped unread.
 */
export class NetlinkSocket {
  /** The largest single write, in bytes. */
  readonly maxSendBytes: number;
  /** Granted; may be less than wanted. */
  readonly receiveBufferBytes: number;
  /** For building requests; `request` and `dump` reset it. */
  readonly writer: MessageWriter = new MessageWriter();
  readonly #buffer = Buffer.allocUnsafeSlow(RECEIVE_BYTES);
  #fd: number;
  #seq = 0;

  private constructor(fd: number, sendBufferBytes: number, receiveBufferBytes: number) {
    this.#fd = fd;
    this.maxSendBytes = sendBufferBytes - SEND_OVERHEAD_BYTES;
    this.receiveBufferBytes = receiveBufferBytes;
  }

  /** Opens and binds a socket. The caller closes it. Throws NETLINK_SYSCALL. */
  static open(protocol: number, options: NetlinkSocketOptions = {}): NetlinkSocket {
    const fd = openSocketFd({
      domain: AF_NETLINK,
      type: SOCKET.SOCK_RAW | SOCKET.SOCK_NONBLOCK,
      protocol,
      ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    });
    try {
      // All three only improve answers; a kernel without them still works.
      trySetOption(fd, SOL_NETLINK, NETLINK_EXT_ACK, 1);
      trySetOption(fd, SOL_NETLINK, NETLINK_CAP_ACK, 1);
      if (options.strictDumps !== false) trySetOption(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
      const sendBytes = growBuffer(fd, "send", options.sendBufferBytes ?? 1024 * 1024);
      const receiveBytes = growBuffer(fd, "receive", options.receiveBufferBytes ?? 4 * 1024 * 1024);
      bindFd(fd, sockaddrNetlink(0));
      return new NetlinkSocket(fd, sendBytes, receiveBytes);
    } catch (error) {
      closeFd(fd);
      throw error;
    }
  }

  /** A sequence number that no message of this socket had before (it wraps after four thousand million). */
  nextSeq(): number {
    this.#seq = this.#seq >= 0xffffffff ? 1 : this.#seq + 1;
    return this.#seq;
  }

  /** A second call does nothing. A later `send` throws NETLINK_CLOSED. */
  close(): void {
    if (this.#fd < 0) return;
    closeFd(this.#fd);
    this.#fd = -1;
  }

  /**
   * Sends what was built, in one write. Throws NETLINK_TOO_LARGE when it is over `maxSendBytes`; then nothing was sent.
   */
  send(op: string, bytes: Uint8Array): void {
    if (this.#fd < 0)
      throw new NetlinkError(`${op} failed: socket is closed`, { code: NETLINK_ERROR_CODES.closed, op });
    try {
      writeSync(this.#fd, bytes);
    } catch (error) {
      const errno = errnoOf(error);
      if (errnoName(errno) !== "EMSGSIZE") throw systemError(op, errno);
      const data = { bytes: bytes.length, limit: this.maxSendBytes };
      throw systemError(op, errno, NETLINK_ERROR_CODES.tooLarge, data);
    }
  }

  /**
   * The next datagram, or `undefined` when none lies ready. The reader's buffer is used again by the next `receive`.
   * Throws NETLINK_OVERRUN once after answers were lost; the call after that goes on with what is left.
   */
  receive(op: string): MessageReader | undefined {
    try {
      const length = readSync(this.#fd, this.#buffer, 0, RECEIVE_BYTES, null);
      return new MessageReader(this.#buffer, length);
    } catch (error) {
      const errno = errnoOf(error);
      const name = errnoName(errno);
      if (name === "EAGAIN") return undefined;
      throw systemError(op, errno, name === "ENOBUFS" ? NETLINK_ERROR_CODES.overrun : NETLINK_ERROR_CODES.syscall);
    }
  }

  /** Throws away every answer that lies ready. */
  drain(): void {
    for (;;) {
      try {
        if (this.receive("Drain") === undefined) return;
      } catch (error) {
        if (!(error instanceof NetlinkError) || error.code !== NETLINK_ERROR_CODES.overrun) throw error;
      }
    }
  }

  /**
   * Sends one request and waits for its acknowledgement. `build` writes the body behind the header. `onMessage` gets
   * the messages before the acknowledgement (the object, for a GET). Throws NETLINK_REFUSED with the kernel's reason.
   */
  request(
    op: string,
    type: number,
    flags: number,
    build: (writer: MessageWriter) => void,
    onMessage?: (message: MessageReader) => void,
  ): void {
    const seq = this.nextSeq();
    this.writer.reset();
    this.writer.message(type, flags | NLM_F.REQUEST | NLM_F.ACK, seq);
    build(this.writer);
    this.writer.endMessage();
    this.send(op, this.writer.bytes);
    let answer: KernelAnswer | undefined;
    this.#receiveUntil(op, (message) => {
      if (message.seq !== seq) return false;
      if (message.type !== NLMSG.ERROR) {
        onMessage?.(message);
        return false;
      }
      answer = decodeKernelAnswer(message);
      return true;
    });
    if (answer !== undefined && answer.errno !== 0) throw refusal(op, answer);
  }

  /**
   * Sends messages that were built by hand, the last one with NLM_F_ACK, and collects the refusals of all of them, in
   * order; an empty list means that all worked. `isMine` tells whether a sequence number belongs to what was sent.
   * `lost` is true when the receive buffer ran over, so that there may have been more refusals.
   */
  exchange(op: string, bytes: Uint8Array, lastSeq: number, isMine: (seq: number) => boolean): ExchangeResult {
    const refusals: KernelAnswer[] = [];
    this.send(op, bytes);
    try {
      this.#receiveUntil(op, (message) => {
        if (message.type !== NLMSG.ERROR || !isMine(message.seq)) return false;
        const answer = decodeKernelAnswer(message);
        if (answer.errno !== 0) refusals.push(answer);
        return answer.seq === lastSeq;
      });
    } catch (error) {
      if (hasCode(error, NETLINK_ERROR_CODES.overrun)) return { refusals, lost: true };
      // A batch that is refused as a whole is answered at its first message only.
      if (refusals.length === 0 || !hasCode(error, NETLINK_ERROR_CODES.noAnswer)) throw error;
    }
    return { refusals, lost: false };
  }

  /**
   * Lists objects. `decode` makes one of each message, or `undefined` to leave it out. A dump that was interrupted by a
   * change is done again, up to 8 times, then NETLINK_DUMP_INTERRUPTED. A dump never gives part of a list.
   */
  dump<T>(
    op: string,
    type: number,
    build: (writer: MessageWriter) => void,
    decode: (message: MessageReader) => T | undefined,
  ): T[] {
    for (let tries = 0; tries < DUMP_TRIES; tries++) {
      const list = this.#dumpOnce(op, type, build, decode);
      if (list !== undefined) return list;
    }
    throw new NetlinkError(`${op} failed: interrupted by changes ${DUMP_TRIES} times`, {
      code: NETLINK_ERROR_CODES.dumpInterrupted,
      op,
    });
  }

  #dumpOnce<T>(
    op: string,
    type: number,
    build: (writer: MessageWriter) => void,
    decode: (message: MessageReader) => T | undefined,
  ): T[] | undefined {
    const seq = this.nextSeq();
    this.writer.reset();
    this.writer.message(type, NLM_F.REQUEST | NLM_F.DUMP, seq);
    build(this.writer);
    this.writer.endMessage();
    this.send(op, this.writer.bytes);
    const list: T[] = [];
    let interrupted = false;
    let problem: unknown;
    // Whatever goes wrong, the dump is read to its end: the kernel answers EBUSY to a new one before that.
    this.#receiveUntil(op, (message) => {
      if (message.seq !== seq) return false;
      if ((message.flags & NLM_F.DUMP_INTR) !== 0) interrupted = true;
      if (message.type === NLMSG.ERROR || message.type === NLMSG.DONE) {
        const answer = decodeDumpEnd(message);
        if (answer.errno !== 0 && problem === undefined) problem = refusal(op, answer);
        return true;
      }
      if (problem !== undefined) return false;
      try {
        const item = decode(message);
        if (item !== undefined) list.push(item);
      } catch (error) {
        problem = error;
      }
      return false;
    });
    if (interrupted) return undefined;
    if (problem !== undefined) throw problem as Error;
    return list;
  }

  /** Reads datagrams until `take` says that a message was the last. */
  #receiveUntil(op: string, take: (message: MessageReader) => boolean): void {
    let overrun: NetlinkError | undefined;
    for (;;) {
      let datagram: MessageReader | undefined;
      try {
        datagram = this.receive(op);
      } catch (error) {
        if (!(error instanceof NetlinkError) || error.code !== NETLINK_ERROR_CODES.overrun) throw error;
        overrun = error;
        continue;
      }
      if (datagram === undefined) break;
      let done = false;
      try {
        while (datagram.next()) if (take(datagram)) done = true;
      } catch (error) {
        if (error instanceof NetlinkError) this.drain();
        throw error;
      }
      if (done) {
        if (overrun !== undefined) throw overrun;
        return;
      }
    }
    if (overrun !== undefined) throw overrun;
    throw new NetlinkError(`${op} failed: the kernel did not answer`, { code: NETLINK_ERROR_CODES.noAnswer, op });
  }
}

/** `struct sockaddr_nl` with these multicast groups (a bit each; only the first 32). */
export function sockaddrNetlink(groups: number): Uint8Array {
  const address = new Uint8Array(12);
  const view = new DataView(address.buffer);
  view.setUint16(0, AF_NETLINK, true);
  view.setUint32(8, groups, true);
  return address;
}

/** NLMSG_DONE carries an errno as NLMSG_ERROR does, but nothing is repeated behind it; old kernels leave it out. */
function decodeDumpEnd(message: MessageReader): KernelAnswer {
  if (message.type === NLMSG.ERROR) {
    const answer = decodeKernelAnswer(message);
    if (answer.errno === 0) throw malformed("acknowledgement in place of a dump");
    return answer;
  }
  if (message.bodyEnd - message.bodyStart < 4) return { seq: message.seq, errno: 0 };
  return { seq: message.seq, errno: 0 - message.i32(0) };
}
