import { type Address, containsAddress, parseCidr } from "@bulrush/ip";
import type { HostVerdict } from "./flow.ts";
import type { Direction } from "./judge-list.ts";
import { type Packet, protocolText } from "./packet.ts";

/** A port that stays open on host endpoints whatever their policy; with `net`, for peers in it. */
export interface FailsafePort {
  readonly protocol: "tcp" | "udp" | "sctp";
  /** Of the host for inbound ports, of the peer for outbound ones. */
  readonly port: number;
  /** CIDR text. Default: all peers. */
  readonly net?: string;
}

/** The ports of the agent's settings FailsafeInboundHostPorts and FailsafeOutboundHostPorts. */
export interface FailsafePorts {
  readonly inbound: readonly FailsafePort[];
  readonly outbound: readonly FailsafePort[];
}

/** Multicast listeners, router and neighbour discovery: without them a host has no IPv6 (RFC 4890, section 4.4.1). */
const LINK_LOCAL_TYPES: ReadonlySet<number> = new Set([130, 131, 132, 133, 134, 135, 136, 143]);

/** Why the packet is let through ahead of policy; undefined where it is not. Forwarded packets meet no such chain. */
export function failsafeWord(
  packet: Packet,
  direction: Direction,
  stage: HostVerdict["stage"],
  { inbound, outbound }: FailsafePorts,
): string | undefined {
  if (stage === "forward") return undefined;
  if (packet.ipVersion === 6 && packet.protocol === 58 && LINK_LOCAL_TYPES.has(packet.icmp?.type ?? -1))
    return `ICMPv6 type ${packet.icmp?.type} is neighbour discovery`;
  const isIn = direction === "ingress";
  const peer = isIn ? packet.source : packet.destination;
  const named = protocolText(packet.protocol);
  if (isOpen(isIn ? inbound : outbound, named, packet.port, peer)) return `${named} ${packet.port} is a failsafe port`;
  // The raw table knows of no connections: answers are named by the port that they come from.
  if (stage === "untracked" && isOpen(isIn ? outbound : inbound, named, packet.sourcePort, peer))
    return `${named} ${packet.sourcePort}, where it comes from, is a failsafe port`;
  return undefined;
}

function isOpen(
  ports: readonly FailsafePort[],
  protocol: string,
  port: number | undefined,
  peer: Address | undefined,
): boolean {
  return ports.some((entry) => {
    if (entry.protocol !== protocol || entry.port !== port) return false;
    if (entry.net === undefined) return true;
    const net = parseCidr(entry.net);
    return net !== undefined && peer !== undefined && containsAddress(net, peer);
  });
}
