import type { NamespaceRef } from "../namespace.ts";
import { closeFd, openSocketFd, setOptionBytes, SOCKET } from "../system/socket-fd.ts";
import { solicitedNodeGroup } from "./ndp-frames.ts";

/** linux/socket.h, linux/in6.h: `struct ipv6_mreq` is a group and an interface index. */
const AF_INET6 = 10;
const IPPROTO_IPV6 = 41;
const IPV6_ADD_MEMBERSHIP = 20;
const IPV6_DROP_MEMBERSHIP = 21;

/** The kernel lets one socket have so many groups and more (optmem_max is 20 KiB at least). */
const GROUPS_A_SOCKET = 200;

interface Member {
  readonly fd: number;
  addresses: number;
}

/**
 * Groups of one interface that are listened to for addresses that are not the host's own: without, neither switches nor
 * network cards hand over what asks for them.
 *
 * Invariant: a group is joined while `#members` has an address of it; `#sockets` counts the groups of each socket.
 */
export class SolicitedGroups {
  readonly #device: number;
  readonly #namespace: { readonly namespace?: NamespaceRef };
  readonly #members = new Map<string, Member>();
  readonly #sockets = new Map<number, number>();

  constructor(device: number, namespace: { readonly namespace?: NamespaceRef }) {
    this.#device = device;
    this.#namespace = namespace;
  }

  /** Throws NETLINK_SYSCALL. */
  join(address: Uint8Array): void {
    const group = solicitedNodeGroup(address);
    const key = group.join(".");
    const known = this.#members.get(key);
    if (known !== undefined) {
      known.addresses++;
      return;
    }
    const fd = this.#socket();
    setOptionBytes(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, this.#request(group));
    this.#sockets.set(fd, (this.#sockets.get(fd) ?? 0) + 1);
    this.#members.set(key, { fd, addresses: 1 });
  }

  /** Of an address that was joined for. */
  leave(address: Uint8Array): void {
    const group = solicitedNodeGroup(address);
    const key = group.join(".");
    const known = this.#members.get(key);
    if (known === undefined || --known.addresses > 0) return;
    this.#members.delete(key);
    this.#sockets.set(known.fd, (this.#sockets.get(known.fd) ?? 1) - 1);
    try {
      setOptionBytes(known.fd, IPPROTO_IPV6, IPV6_DROP_MEMBERSHIP, this.#request(group));
    } catch {
      // The interface has gone, and its groups with it.
    }
  }

  close(): void {
    for (const fd of this.#sockets.keys()) closeFd(fd);
    this.#sockets.clear();
    this.#members.clear();
  }

  #socket(): number {
    for (const [fd, groups] of this.#sockets) if (groups < GROUPS_A_SOCKET) return fd;
    const fd = openSocketFd({ domain: AF_INET6, type: SOCKET.SOCK_DGRAM, protocol: 0, ...this.#namespace });
    this.#sockets.set(fd, 0);
    return fd;
  }

  #request(group: Uint8Array): Uint8Array {
    const request = new Uint8Array(20);
    request.set(group);
    new DataView(request.buffer).setInt32(16, this.#device, true);
    return request;
  }
}
