import { type Address, addressBytes, addressFromBytes } from "@bulrush/ip";
import koffi from "koffi";

/**
 * The system calls of the lab that Node has no word for: sockets made inside a network namespace and polled without
 * the event loop, and namespaces bound to files. Constants are Linux's, the same on x64 and arm64.
 */
const libc = koffi.load("libc.so.6");
const sysSocket = libc.func("int socket(int domain, int type, int protocol)");
const sysBind = libc.func("int bind(int fd, const void *address, unsigned int length)");
const sysConnect = libc.func("int connect(int fd, const void *address, unsigned int length)");
const sysListen = libc.func("int listen(int fd, int backlog)");
const sysAccept4 = libc.func("int accept4(int fd, void *address, void *length, int flags)");
const sysSendto = libc.func(
  "int64_t sendto(int fd, const void *bytes, size_t length, int flags, const void *to, unsigned int toLength)",
);
const sysRecvfrom = libc.func(
  "int64_t recvfrom(int fd, void *bytes, size_t length, int flags, void *from, void *fromLength)",
);
const sysSetsockopt = libc.func("int setsockopt(int fd, int level, int name, const void *value, unsigned int length)");
const sysGetsockopt = libc.func("int getsockopt(int fd, int level, int name, void *value, void *length)");
const sysPoll = libc.func("int poll(void *fds, unsigned long count, int timeoutMs)");
const sysClose = libc.func("int close(int fd)");
const sysSetns = libc.func("int setns(int fd, int type)");
const sysUnshare = libc.func("int unshare(int flags)");
const sysMount = libc.func(
  "int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)",
);
const sysUmount2 = libc.func("int umount2(const char *target, int flags)");
const sysStrerror = libc.func("const char *strerror(int errno)");

const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_ERROR = 4;
const SO_LINGER = 13;
const SO_REUSEPORT = 15;
const IPPROTO_IPV6 = 41;
const IPV6_V6ONLY = 26;
const EAGAIN = 11;
const EINTR = 4;
const EINPROGRESS = 115;
const CLONE_NEWNET = 0x40000000;
const MS_BIND = 4096;
const MNT_DETACH = 2;

export const IPPROTO_ICMP = 1;
export const IPPROTO_ICMPV6 = 58;
export const IPPROTO_SCTP = 132;
export const POLLIN = 1;
export const POLLOUT = 4;
export const POLLERR = 8;
export const POLLHUP = 16;

/** A failed system call of the lab. */
class PosixError extends Error {
  override readonly name = "PosixError";
  readonly errno: number;

  constructor(call: string, errno: number) {
    super(`${call} failed: ${sysStrerror(errno) as string} (errno ${errno})`);
    this.errno = errno;
  }
}

function check(call: string, result: number | bigint): number {
  if (Number(result) < 0) throw new PosixError(call, koffi.errno());
  return Number(result);
}

export type SocketKind = "stream" | "datagram" | "raw";
const SOCK: Readonly<Record<SocketKind, number>> = { stream: 1, datagram: 2, raw: 3 };

/** A non-blocking socket in the network namespace of the calling thread. The caller closes it. */
export function openSocket(family: 4 | 6, kind: SocketKind, protocol = 0): number {
  const domain = family === 4 ? AF_INET : AF_INET6;
  return check("socket", sysSocket(domain, SOCK[kind] | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol) as number);
}

function sockaddr(family: 4 | 6, address: Address | undefined, port: number): Buffer {
  const bytes = Buffer.alloc(family === 4 ? 16 : 28);
  bytes.writeUInt16LE(family === 4 ? AF_INET : AF_INET6, 0);
  bytes.writeUInt16BE(port, 2);
  if (address !== undefined) bytes.set(addressBytes(address), family === 4 ? 4 : 8);
  return bytes;
}

/** Binds to a port on every address; an IPv6 socket takes IPv4 as well. */
export function bindAny(fd: number, family: 4 | 6, port: number): void {
  // A probe may start from a port that its pod listens on.
  const on = Buffer.from([1, 0, 0, 0]);
  check("setsockopt", sysSetsockopt(fd, SOL_SOCKET, SO_REUSEPORT, on, 4) as number);
  if (family === 6) {
    const off = Buffer.alloc(4);
    check("setsockopt", sysSetsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, off, 4) as number);
  }
  const address = sockaddr(family, undefined, port);
  check("bind", sysBind(fd, address, address.length) as number);
}

export function listen(fd: number, backlog: number): void {
  check("listen", sysListen(fd, backlog) as number);
}

/** Starts a connection; its end shows in {@link pollSockets}. Returns an errno, or 0 when it goes on (or is done). */
export function startConnect(fd: number, to: Address, port: number): number {
  const address = sockaddr(to.family, to, port);
  if (Number(sysConnect(fd, address, address.length)) === 0) return 0;
  const errno = koffi.errno();
  return errno === EINPROGRESS ? 0 : errno;
}

/** The pending error of a socket: 0 after a connection that came about. */
export function socketError(fd: number): number {
  const value = Buffer.alloc(4);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(4);
  check("getsockopt", sysGetsockopt(fd, SOL_SOCKET, SO_ERROR, value, length) as number);
  return value.readInt32LE(0);
}

/** The next waiting connection, or `undefined`. */
export function accept(fd: number): number | undefined {
  const result = Number(sysAccept4(fd, null, null, SOCK_NONBLOCK | SOCK_CLOEXEC));
  return result < 0 ? undefined : result;
}

/** Sends one datagram. Returns an errno, 0 when it went out. */
export function sendTo(fd: number, bytes: Buffer, to: Address, port: number, family: 4 | 6 = to.family): number {
  const mapped: Address = family === 6 && to.family === 4 ? { family: 6, words: [0, 0, 0xffff, to.words[0] ?? 0] } : to;
  const address = sockaddr(family, mapped, port);
  return Number(sysSendto(fd, bytes, bytes.length, 0, address, address.length)) < 0 ? koffi.errno() : 0;
}

export interface Datagram {
  readonly bytes: Buffer;
  readonly from: Address;
  readonly port: number;
}

/** More than any probe sends. */
const MAX_DATAGRAM_BYTES = 8192;

/** The next datagram, or `undefined` when none waits. A raw IPv4 socket hands out the IP header as well. */
export function receiveFrom(fd: number): Datagram | undefined {
  const bytes = Buffer.allocUnsafe(MAX_DATAGRAM_BYTES);
  const from = Buffer.alloc(28);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(from.length);
  const got = Number(sysRecvfrom(fd, bytes, bytes.length, 0, from, length));
  if (got < 0) return undefined;
  const isIPv4 = from.readUInt16LE(0) === AF_INET;
  let address = addressFromBytes(isIPv4 ? from.subarray(4, 8) : from.subarray(8, 24));
  const { words } = address;
  if (!isIPv4 && words[0] === 0 && words[1] === 0 && words[2] === 0xffff)
    address = { family: 4, words: [words[3] ?? 0] };
  return { bytes: bytes.subarray(0, got), from: address, port: from.readUInt16BE(2) };
}

export interface Polled {
  readonly fd: number;
  readonly events: number;
}

/** What is ready: the events of each entry, in order. Waits at most `timeoutMs` (0: not at all). */
export function pollSockets(entries: readonly Polled[], timeoutMs: number): Int16Array {
  const bytes = Buffer.alloc(entries.length * 8);
  for (const [i, entry] of entries.entries()) {
    bytes.writeInt32LE(entry.fd, i * 8);
    bytes.writeInt16LE(entry.events, i * 8 + 4);
  }
  if (Number(sysPoll(bytes, entries.length, timeoutMs)) < 0) {
    const errno = koffi.errno();
    if (errno !== EINTR && errno !== EAGAIN) throw new PosixError("poll", errno);
  }
  return Int16Array.from(entries, (_, i) => bytes.readInt16LE(i * 8 + 6));
}

/** Closes a socket. A TCP connection ends with a reset, so that nothing of it lingers. */
export function closeSocket(fd: number, options: { reset?: boolean } = {}): void {
  if (options.reset === true) {
    const linger = Buffer.alloc(8);
    linger.writeInt32LE(1, 0);
    sysSetsockopt(fd, SOL_SOCKET, SO_LINGER, linger, 8);
  }
  check("close", sysClose(fd) as number);
}

/** Moves the calling thread into a new, empty network namespace. */
export function unshareNetwork(): void {
  check("unshare", sysUnshare(CLONE_NEWNET) as number);
}

/** Moves the calling thread into the network namespace behind `fd`. */
export function setNetwork(fd: number): void {
  check("setns", sysSetns(fd, CLONE_NEWNET) as number);
}

export function bindMount(source: string, target: string): void {
  check("mount", sysMount(source, target, null, MS_BIND, null) as number);
}

export function mountTmpfs(target: string): void {
  check("mount", sysMount("none", target, "tmpfs", 0, "mode=0755") as number);
}

export function unmount(target: string): void {
  check("umount", sysUmount2(target, MNT_DETACH) as number);
}
