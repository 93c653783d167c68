import type { Statement } from "@bulrush/nftables";
import type { IcmpMatch } from "@bulrush/proto";
import { equals, type Family, match, meta, payload } from "../statements.ts";

/** The protocol of ICMP in a family. */
export function icmpProtocol(family: Family): Statement {
  return equals(meta("l4proto"), family === 4 ? "icmp" : "icmpv6");
}

/** The type, or type and code as one comparison of two bytes, which negates as a whole: "not (type and code)". */
export function matchIcmp(icmp: IcmpMatch, op: "==" | "!=", family: Family): Statement {
  if (icmp.code === undefined)
    return match(payload(family === 4 ? "icmp type" : "icmpv6 type"), op, { kind: "value", value: icmp.type });
  return match(payload("icmp type-code"), op, { kind: "value", value: icmp.type * 256 + icmp.code });
}
