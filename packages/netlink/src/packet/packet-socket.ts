import type { NamespaceRef } from "../namespace.ts";
import { attachFilter, bindFd, closeFd, type FilterInstruction, openSocketFd, SOCKET } from "../system/socket-fd.ts";

/** linux/socket.h, linux/if_packet.h: `struct sockaddr_ll` has 20 bytes. */
const AF_PACKET = 17;
const SOCKADDR_LL_BYTES = 20;

export interface PacketSocketOptions {
  /** Index of the interface. */
  readonly device: number;
  /** Frames of this type come in; what is written goes out whatever its type. */
  readonly ethertype: number;
  readonly filter?: readonly FilterInstruction[];
  readonly namespace?: NamespaceRef;
}

/**
 * Opens a socket for whole Ethernet frames of one device (packet(7)); those that go out are not seen. It never blocks. The
 * caller owns the file descriptor. Throws NETLINK_SYSCALL.
 */
export function openPacketSocket({ device, ethertype, filter, ...options }: PacketSocketOptions): number {
  // Without a protocol until it is bound: frames of other devices would come meanwhile.
  const fd = openSocketFd({
    domain: AF_PACKET,
    type: SOCKET.SOCK_RAW | SOCKET.SOCK_NONBLOCK,
    protocol: 0,
    ...options,
  });
  try {
    if (filter !== undefined) attachFilter(fd, filter);
    bindFd(fd, sockaddrLl(device, ethertype));
  } catch (error) {
    closeFd(fd);
    throw error;
  }
  return fd;
}

function sockaddrLl(device: number, protocol: number): Uint8Array {
  const address = new Uint8Array(SOCKADDR_LL_BYTES);
  const view = new DataView(address.buffer);
  view.setUint16(0, AF_PACKET, true);
  view.setUint16(2, protocol, false);
  view.setInt32(4, device, true);
  return address;
}
