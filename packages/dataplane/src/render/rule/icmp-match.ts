import type { Statement } from "@bulrush/nftables";
import type { DataplaneRule, IcmpMatch } from "@bulrush/proto";
import { equals, type Family, match, meta, payload } from "../statements.ts";
import { EVERY, type FieldMatch, NEVER } from "./net-match.ts";
import { protocolLiteral } from "./protocol.ts";

const NO_FIELDS: readonly FieldMatch[] = [];

/**
 * The ICMP fields of a rule. A packet has an ICMP type when its protocol is the ICMP of its own IP version, and not by
 * the other one's number: `icmpv6` inside IPv4 is some protocol 58, whose bytes mean nothing here.
 *
 *     rule's protocol     type asked for          type excluded
 *     none                own ICMP, of the type   another protocol, or own ICMP of another type
 *     own ICMP            of the type             of another type
 *     another             no packet               every packet
 */
export function matchIcmpFields(rule: DataplaneRule, family: Family): readonly FieldMatch[] {
  const { icmp, not_icmp: notIcmp, protocol } = rule;
  if (icmp === undefined && notIcmp === undefined) return NO_FIELDS;
  const own = family === 4 ? "icmp" : "icmpv6";
  const isOwn = protocol === undefined ? undefined : protocolLiteral(protocol) === own;
  const fields: FieldMatch[] = [];
  if (icmp !== undefined)
    fields.push(isOwn === false ? NEVER : { kind: "all", statements: [compareType(icmp, "==", family)] });
  if (notIcmp !== undefined) {
    const another = compareType(notIcmp, "!=", family);
    if (isOwn === false) fields.push(EVERY);
    else if (isOwn === true || icmp !== undefined) fields.push({ kind: "all", statements: [another] });
    else fields.push({ kind: "any", alternatives: [[otherProtocol(own)], [equals(meta("l4proto"), own), another]] });
  }
  return fields;
}

function otherProtocol(own: "icmp" | "icmpv6"): Statement {
  return match(meta("l4proto"), "!=", { kind: "value", value: own });
}

/** The type, or type and code as one comparison of two bytes, which negates as a whole: "not (type and code)". */
function compareType(icmp: IcmpMatch, op: "==" | "!=", family: Family): Statement {
  if (icmp.code === undefined)
    return match(payload(family === 4 ? "icmp type" : "icmpv6 type"), op, { kind: "value", value: icmp.type });
  return match(payload("icmp type-code"), op, { kind: "value", value: icmp.type * 256 + icmp.code });
}
