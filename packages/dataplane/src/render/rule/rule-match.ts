import type { Operand, Statement } from "@bulrush/nftables";
import type { DataplaneRule } from "@bulrush/proto";
import type { SetLookup } from "../set-shape.ts";
import { address, addressAndPort, type Family, isProtocol, match, meta } from "../statements.ts";
import { matchIcmpFields } from "./icmp-match.ts";
import { type FieldMatch, matchNets, matchNoNets } from "./net-match.ts";
import { hasPorts, matchNoPorts, matchPorts } from "./port-match.ts";
import { protocolLiteral } from "./protocol.ts";
import { matchNoSets, matchSets } from "./set-match.ts";

/** All that a rule asks of a packet of one family: every statement must hold, and of each group one alternative. */
export interface RuleMatch {
  readonly statements: readonly Statement[];
  readonly groups: readonly (readonly (readonly Statement[])[])[];
}

/** `undefined`: the rule cannot match in this family and is left out. */
export function ruleMatch(rule: DataplaneRule, family: Family, sets: SetLookup): RuleMatch | undefined {
  if (rule.ip_version !== "ANY" && rule.ip_version !== family) return undefined;
  const src = address("src", family);
  const dst = address("dst", family);
  const statements: Statement[] = [];
  const groups: (readonly (readonly Statement[])[])[] = [];
  /** False when the field cannot match. */
  const add = (field: FieldMatch): boolean => {
    if (field.kind === "never") return false;
    if (field.kind === "all") statements.push(...field.statements);
    else groups.push(field.alternatives);
    return true;
  };
  const addSets = (operand: Operand, ids: readonly string[] | undefined): boolean =>
    ids === undefined || matchSets(operand, ids, sets).every(add);
  addProtocol(rule, family, statements);
  const canMatch =
    add(matchNets("src", rule.src_net, family)) &&
    addSets(src, rule.src_ip_set_ids) &&
    add(matchPorts("src", rule.src_ports, rule.src_named_port_ip_set_ids, family, sets)) &&
    add(matchNets("dst", rule.dst_net, family)) &&
    addSets(dst, rule.dst_ip_set_ids) &&
    (rule.dst_ip_port_set_ids === undefined || addSets(addressAndPort("dst", family), rule.dst_ip_port_set_ids)) &&
    add(matchPorts("dst", rule.dst_ports, rule.dst_named_port_ip_set_ids, family, sets)) &&
    matchIcmpFields(rule, family).every(add) &&
    add(matchNoNets("src", rule.not_src_net, family));
  if (!canMatch) return undefined;
  statements.push(
    ...matchNoSets(src, rule.not_src_ip_set_ids, sets),
    ...matchNoPorts("src", rule.not_src_ports, rule.not_src_named_port_ip_set_ids, family, sets),
  );
  if (!add(matchNoNets("dst", rule.not_dst_net, family))) return undefined;
  statements.push(
    ...matchNoSets(dst, rule.not_dst_ip_set_ids, sets),
    ...matchNoPorts("dst", rule.not_dst_ports, rule.not_dst_named_port_ip_set_ids, family, sets),
  );
  return { statements, groups };
}

/**
 * The protocol, where one is asked for. Without one, a port or an ICMP type would be compared with the bytes of
 * whatever protocol the packet has: then the protocols that have such a field are asked for.
 */
function addProtocol(rule: DataplaneRule, family: Family, statements: Statement[]): void {
  if (rule.protocol !== undefined) statements.push(isProtocol(protocolLiteral(rule.protocol)));
  else if (rule.icmp !== undefined) statements.push(isProtocol(family === 4 ? "icmp" : "icmpv6"));
  else if (isSet(rule.src_ports) || isSet(rule.dst_ports) || isSet(rule.not_src_ports) || isSet(rule.not_dst_ports))
    statements.push(hasPorts());
  if (rule.not_protocol !== undefined)
    statements.push(match(meta("l4proto"), "!=", { kind: "value", value: protocolLiteral(rule.not_protocol) }));
}

function isSet(list: readonly unknown[] | undefined): boolean {
  return list !== undefined && list.length > 0;
}
