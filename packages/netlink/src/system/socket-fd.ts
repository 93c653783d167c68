import { closeSync } from "node:fs";
import { type NamespaceRef, withNetworkNamespace } from "../namespace.ts";
import { systemError } from "./errno.ts";
import { native } from "./native.ts";

/** asm-generic/socket.h, linux/net.h: what x86-64 and arm64 have in common. */
export const SOCKET = {
  SOCK_STREAM: 1,
  SOCK_DGRAM: 2,
  SOCK_RAW: 3,
  SOCK_NONBLOCK: 0x800,
  SOCK_CLOEXEC: 0x80000,
  SOL_SOCKET: 1,
  SO_SNDBUF: 7,
  SO_RCVBUF: 8,
  SO_RCVTIMEO: 20,
  SO_ATTACH_FILTER: 26,
  SO_SNDBUFFORCE: 32,
  SO_RCVBUFFORCE: 33,
} as const;

const MSG_DONTWAIT = 0x40;

/** The arguments of socket(2), and where to call it. */
export interface SocketFdOptions {
  readonly domain: number;
  /** SOCK_CLOEXEC is added. */
  readonly type: number;
  readonly protocol: number;
  /** Default: the calling thread's namespace. */
  readonly namespace?: NamespaceRef;
}

/**
 * Makes a socket, in another network namespace where one is named. The caller owns the file descriptor. A socket stays
 * in the namespace that it was made in, whatever the thread does afterwards.
 */
export function openSocketFd(options: SocketFdOptions): number {
  const open = (): number => {
    const fd = native().socket(options.domain, options.type | SOCKET.SOCK_CLOEXEC, options.protocol);
    if (fd < 0) throw systemError("Open socket", native().errno());
    return fd;
  };
  return options.namespace === undefined ? open() : withNetworkNamespace(options.namespace, open);
}

/** Binds a socket to an encoded `struct sockaddr`. */
export function bindFd(fd: number, address: Uint8Array): void {
  if (native().bind(fd, address, address.length) < 0) throw systemError("Bind socket", native().errno());
}

/** Sets an integer option. Returns 0, or the errno of what went wrong. */
export function trySetOption(fd: number, level: number, option: number, value: number): number {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value, true);
  return native().setsockopt(fd, level, option, bytes, 4) < 0 ? native().errno() : 0;
}

/** Sets an option of any shape. Throws when that fails. */
export function setOptionBytes(fd: number, level: number, option: number, value: Uint8Array): void {
  if (native().setsockopt(fd, level, option, value, value.length) < 0)
    throw systemError(`Set socket option ${level}/${option}`, native().errno());
}

/** An instruction of classic BPF (linux/filter.h): opcode, jumps if true and if false, constant. */
export type FilterInstruction = readonly [code: number, ifTrue: number, ifFalse: number, constant: number];

const FILTER_INSTRUCTION_BYTES = 8;
const SOCK_FPROG_BYTES = 16;

/** Only packets that the program gives a length for are queued from now on. */
export function attachFilter(fd: number, program: readonly FilterInstruction[]): void {
  const filter = new Uint8Array(program.length * FILTER_INSTRUCTION_BYTES);
  const view = new DataView(filter.buffer);
  for (const [i, [code, ifTrue, ifFalse, constant]] of program.entries()) {
    const at = i * FILTER_INSTRUCTION_BYTES;
    view.setUint16(at, code, true);
    view.setUint8(at + 2, ifTrue);
    view.setUint8(at + 3, ifFalse);
    view.setUint32(at + 4, constant, true);
  }
  const { SOL_SOCKET, SO_ATTACH_FILTER } = SOCKET;
  if (native().setFilter(fd, SOL_SOCKET, SO_ATTACH_FILTER, { len: program.length, filter }, SOCK_FPROG_BYTES) < 0)
    throw systemError("Attach socket filter", native().errno());
}

function getOption(fd: number, level: number, option: number): number {
  const value = new Uint8Array(4);
  const length = new Uint8Array([4, 0, 0, 0]);
  if (native().getsockopt(fd, level, option, value, length) < 0)
    throw systemError(`Get socket option ${level}/${option}`, native().errno());
  return new DataView(value.buffer).getInt32(0, true);
}

/**
 * Asks for a buffer size, by force where that is allowed (not in a user namespace), and returns the bytes that a
 * single message can take: what was granted, which the kernel shows doubled.
 */
export function growBuffer(fd: number, which: "send" | "receive", wantedBytes: number): number {
  const [force, plain] =
    which === "send" ? [SOCKET.SO_SNDBUFFORCE, SOCKET.SO_SNDBUF] : [SOCKET.SO_RCVBUFFORCE, SOCKET.SO_RCVBUF];
  if (
    getOption(fd, SOCKET.SOL_SOCKET, plain) < wantedBytes &&
    trySetOption(fd, SOCKET.SOL_SOCKET, force, wantedBytes) !== 0
  )
    trySetOption(fd, SOCKET.SOL_SOCKET, plain, wantedBytes);
  return getOption(fd, SOCKET.SOL_SOCKET, plain);
}

/** A blocking read gives up with EAGAIN after this long. */
export function setReceiveTimeout(fd: number, timeoutMs: number): void {
  const timeval = new Uint8Array(16);
  const view = new DataView(timeval.buffer);
  view.setBigInt64(0, BigInt(Math.floor(timeoutMs / 1000)), true);
  view.setBigInt64(8, BigInt((timeoutMs % 1000) * 1000), true);
  setOptionBytes(fd, SOCKET.SOL_SOCKET, SOCKET.SO_RCVTIMEO, timeval);
}

/** Receives into the buffer without waiting, also from a blocking socket. Returns the length, or the errno negated. */
export function receiveNow(fd: number, buffer: Uint8Array): number {
  const length = native().recv(fd, buffer, buffer.length, MSG_DONTWAIT);
  return length < 0 ? -native().errno() : length;
}

/** Closes a file descriptor; an error changes nothing any more. */
export function closeFd(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // EBADF or EIO: there is nothing left to close.
  }
}
