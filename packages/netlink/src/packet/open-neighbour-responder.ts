import { writeSync } from "node:fs";
import type { NamespaceRef } from "../namespace.ts";
import { addressBytesOf, addressText, badArgument, macBytes } from "../route/text-codec.ts";
import { errnoName, errnoOf, systemError } from "../system/errno.ts";
import { closeFd, type FilterInstruction, receiveNow } from "../system/socket-fd.ts";
import { arpAnnouncement, arpReply, readArpQuery } from "./arp-frames.ts";
import { ETHERTYPE } from "./ethernet.ts";
import { ndpAnnouncement, ndpReply, readNdpQuery } from "./ndp-frames.ts";
import { openPacketSocket } from "./packet-socket.ts";
import { SolicitedGroups } from "./solicited-groups.ts";

/** As much of a frame as a question of neighbour discovery with its options has. */
const FRAME_BYTES = 256;
/** Questions that one call answers at most; the rest is for the next one. */
const QUESTIONS_A_CALL = 256;

/** Classic BPF (linux/bpf_common.h): load a byte or two at an offset, compare, return a length. */
const LOAD_BYTE = 0x30;
const LOAD_HALF = 0x28;
const JUMP_EQUAL = 0x15;
const RETURN = 0x06;
const WHOLE: FilterInstruction = [RETURN, 0, 0, FRAME_BYTES];
const NOTHING: FilterInstruction = [RETURN, 0, 0, 0];

/** Requests alone (operation 1). */
const ARP_REQUESTS: readonly FilterInstruction[] = [[LOAD_HALF, 0, 0, 20], [JUMP_EQUAL, 0, 1, 1], WHOLE, NOTHING];
/** ICMPv6 (58) right behind the IPv6 header, of type 135: else all of IPv6 would come. */
const NDP_SOLICITATIONS: readonly FilterInstruction[] = [
  [LOAD_BYTE, 0, 0, 20],
  [JUMP_EQUAL, 0, 3, 58],
  [LOAD_BYTE, 0, 0, 54],
  [JUMP_EQUAL, 0, 1, 135],
  WHOLE,
  NOTHING,
];

/** One family on one interface. */
export interface NeighbourResponderOptions {
  readonly family: 4 | 6;
  /** Index of the interface that questions come in by. */
  readonly device: number;
  /** What they are answered with: the MAC of the interface. */
  readonly mac: string;
  /** IPv6 only: an address of the interface, which answers come from. */
  readonly from?: string;
  /** Default: the calling thread's namespace. */
  readonly namespace?: NamespaceRef;
}

/**
 * Answers, on one network, those who ask by ARP or neighbour discovery where addresses are that this host has not itself.
 * The caller closes it, and asks it often: until `answer` is called, questions wait in a buffer of the kernel.
 */
export interface NeighbourResponder {
  /** The addresses that are answered for from now on. Each one that is new is announced. Throws NETLINK_SYSCALL, NETLINK_ARGUMENT. */
  set(addresses: Iterable<string>): void;
  /** Tells everybody of all of them. Throws NETLINK_SYSCALL. */
  announce(): void;
  /** Answers what has been asked, and says how often. Never waits. Throws NETLINK_SYSCALL: the interface is down, or gone. */
  answer(): number;
  close(): void;
}

/** Throws NETLINK_SYSCALL (EPERM without NET_RAW) and NETLINK_ARGUMENT. */
export function openNeighbourResponder(options: NeighbourResponderOptions): NeighbourResponder {
  const { device, family } = options;
  const namespace = options.namespace === undefined ? {} : { namespace: options.namespace };
  const mac = macBytes(options.mac);
  const from = family === 6 ? bytesOf(options.from ?? "", 6) : new Uint8Array(0);
  const fd = openPacketSocket({
    device,
    ethertype: family === 4 ? ETHERTYPE.arp : ETHERTYPE.ipv6,
    filter: family === 4 ? ARP_REQUESTS : NDP_SOLICITATIONS,
    ...namespace,
  });
  const groups = family === 6 ? new SolicitedGroups(device, namespace) : undefined;
  const addresses = new Map<string, Uint8Array>();
  const frame = new Uint8Array(FRAME_BYTES);
  let isClosed = false;

  const isOurs = (target: Uint8Array): boolean => addresses.has(addressText(target) ?? "");
  const answerTo = (received: Uint8Array): Uint8Array | undefined => {
    if (family === 4) {
      const query = readArpQuery(received);
      return query !== undefined && isOurs(query.target) ? arpReply(mac, query) : undefined;
    }
    const query = readNdpQuery(received);
    return query !== undefined && isOurs(query.target) ? ndpReply(mac, from, query) : undefined;
  };
  const announce = (address: Uint8Array): void =>
    send(fd, family === 4 ? arpAnnouncement(mac, address) : ndpAnnouncement(mac, from, address));

  return {
    set(wanted) {
      const next = new Map<string, Uint8Array>();
      for (const text of wanted) {
        const bytes = bytesOf(text, family);
        next.set(addressText(bytes) ?? text, bytes);
      }
      for (const [text, address] of addresses)
        if (!next.has(text)) {
          addresses.delete(text);
          groups?.leave(address);
        }
      for (const [text, address] of next) {
        if (addresses.has(text)) continue;
        groups?.join(address);
        addresses.set(text, address);
        announce(address);
      }
    },
    announce() {
      for (const address of addresses.values()) announce(address);
    },
    answer() {
      let answered = 0;
      for (let i = 0; i < QUESTIONS_A_CALL; i++) {
        const length = receiveNow(fd, frame);
        if (length < 0) {
          if (errnoName(-length) === "EAGAIN") break;
          throw systemError("Receive questions of neighbours", -length);
        }
        const answer = answerTo(frame.subarray(0, length));
        if (answer === undefined) continue;
        send(fd, answer);
        answered++;
      }
      return answered;
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      closeFd(fd);
      groups?.close();
    },
  };
}

/** An answer that finds no room is lost: whoever asked asks again. */
function send(fd: number, frame: Uint8Array): void {
  try {
    writeSync(fd, frame);
  } catch (error) {
    const errno = errnoOf(error);
    if (!["EAGAIN", "ENOBUFS"].includes(errnoName(errno))) throw systemError("Answer neighbours", errno);
  }
}

function bytesOf(text: string, family: 4 | 6): Uint8Array {
  const bytes = addressBytesOf(text);
  if (bytes.length !== (family === 4 ? 4 : 16)) throw badArgument(`IPv${family} address`, text);
  return bytes;
}
