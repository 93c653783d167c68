import type { Literal } from "@bulrush/nftables";
import type { RuleProtocol } from "@bulrush/proto";

/** IANA protocol numbers with a name that nft knows. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [1, "icmp"],
  [6, "tcp"],
  [17, "udp"],
  [58, "icmpv6"],
  [132, "sctp"],
  [136, "udplite"],
]);

/** One spelling for a protocol, whether it came by name or by number. */
export function protocolLiteral(protocol: RuleProtocol): Literal {
  if ("number" in protocol) return NAMES.get(protocol.number) ?? protocol.number;
  return protocol.name.toLowerCase();
}
