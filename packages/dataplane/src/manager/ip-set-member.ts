import { canonicalCidr, parseIPv4 } from "@bulrush/ip";
import { protocolNumber } from "@bulrush/nftables";
import type { IPSetType } from "@bulrush/proto";
import type { Family } from "../render/statements.ts";

/** Where one member of an IP set goes. */
export interface PlacedMember {
  readonly family: Family;
  /** `net`: a network of more than one address. */
  readonly part: "main" | "net";
  /** As the kernel's set holds it. */
  readonly element: string;
}

/** Reads "10.0.0.1", "10.0.0.1/32", "10.0.0.0/8" or (for IP_AND_PORT) "10.0.0.1,tcp:8080". `undefined`: none of these. */
export function placeMember(type: IPSetType, member: string): PlacedMember | undefined {
  const comma = type === "IP_AND_PORT" ? member.indexOf(",") : member.length;
  const address = placeAddress(member.slice(0, comma));
  if (type !== "IP_AND_PORT") return type === "IP" && address?.part === "net" ? undefined : address;
  const port = /^,([a-z0-9]+):([0-9]{1,5})$/.exec(member.slice(comma));
  if (comma < 0 || port === null || address === undefined || address.part === "net") return undefined;
  const [, protocol = "", number = ""] = port;
  if (protocolNumber(protocol) === undefined || Number(number) > 0xffff) return undefined;
  return { ...address, element: `${address.element} . ${protocol} . ${number}` };
}

/** The element for a member that is a single IPv4 address, as most are by far: no more than a look at each character. */
export function ipv4Host(text: string): string | undefined {
  const host = text.endsWith("/32") ? text.slice(0, -3) : text;
  return parseIPv4(host) === undefined ? undefined : host;
}

function placeAddress(text: string): PlacedMember | undefined {
  const host = ipv4Host(text);
  if (host !== undefined) return { family: 4, part: "main", element: host };
  const cidr = canonicalCidr(text);
  if (cidr === undefined) return undefined;
  const slash = cidr.indexOf("/");
  const family = cidr.includes(":") ? 6 : 4;
  const isHost = Number(cidr.slice(slash + 1)) === (family === 4 ? 32 : 128);
  return isHost ? { family, part: "main", element: cidr.slice(0, slash) } : { family, part: "net", element: cidr };
}
