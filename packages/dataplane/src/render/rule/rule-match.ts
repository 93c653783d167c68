import type { Operand, Statement } from "@bulrush/nftables";
import type { DataplaneRule } from "@bulrush/proto";
import type { SetLookup } from "../set-shape.ts";
import { address, addressAndPort, type Family, isProtocol, match, meta, type Side } from "../statements.ts";
import { matchIcmpFields } from "./icmp-match.ts";
import { type FieldMatch, matchNets, matchNoNets } from "./net-match.ts";
import { hasPorts, matchNoPorts, matchPorts } from "./port-match.ts";
import { protocolLiteral } from "./protocol.ts";
import { matchNoSets, matchSet } from "./set-match.ts";

/** All that a rule asks of a packet of one family: every statement must hold, and of each group one alternative. */
export interface RuleMatch {
  readonly statements: readonly Statement[];
  readonly groups: readonly (readonly (readonly Statement[])[])[];
}

/** The same while it is put together. */
interface Draft extends RuleMatch {
  readonly statements: Statement[];
  readonly groups: (readonly (readonly Statement[])[])[];
}

/**
 * The kernel takes 128 expressions a rule (NFT_RULE_MAXEXPRS of nf_tables_api.c), and refuses the batch that has a longer
 * one. A statement is four expressions at most (address, protocol and port, looked up together), and what acts at the
 * end of the rule takes a few more.
 */
const MAX_STATEMENTS = 24;

/** `undefined`: the rule cannot match in this family and is left out. */
export function ruleMatch(rule: DataplaneRule, family: Family, sets: SetLookup): RuleMatch | undefined {
  if (rule.ip_version !== "ANY" && rule.ip_version !== family) return undefined;
  const draft: Draft = { statements: [], groups: [] };
  addProtocol(rule, family, draft.statements);
  if (!addFields(draft, rule, family, sets) || !addExclusions(draft, rule, family, sets)) return undefined;
  splitLong(draft);
  return draft;
}

/** What is too much for one rule goes into groups of one alternative each, which is the same AND. */
function splitLong({ groups, statements }: Draft): void {
  while (statements.length > MAX_STATEMENTS) groups.push([statements.splice(-MAX_STATEMENTS)]);
}

/** False when a field cannot match. */
function addFields(draft: Draft, rule: DataplaneRule, family: Family, sets: SetLookup): boolean {
  return (
    add(draft, matchNets("src", rule.src_net, family)) &&
    addSets(draft, address("src", family), rule.src_ip_set_ids, sets) &&
    add(draft, matchPorts("src", rule.src_ports, rule.src_named_port_ip_set_ids, family, sets)) &&
    add(draft, matchNets("dst", rule.dst_net, family)) &&
    addSets(draft, address("dst", family), rule.dst_ip_set_ids, sets) &&
    addSets(draft, addressAndPort("dst", family), rule.dst_ip_port_set_ids, sets) &&
    add(draft, matchPorts("dst", rule.dst_ports, rule.dst_named_port_ip_set_ids, family, sets)) &&
    matchIcmpFields(rule, family).every((field) => add(draft, field))
  );
}

function addExclusions(draft: Draft, rule: DataplaneRule, family: Family, sets: SetLookup): boolean {
  for (const side of SIDES) {
    const isSource = side === "src";
    if (!add(draft, matchNoNets(side, isSource ? rule.not_src_net : rule.not_dst_net, family))) return false;
    const ids = isSource ? rule.not_src_ip_set_ids : rule.not_dst_ip_set_ids;
    if (ids !== undefined) draft.statements.push(...matchNoSets(address(side, family), ids, sets));
    const ports = isSource ? rule.not_src_ports : rule.not_dst_ports;
    const named = isSource ? rule.not_src_named_port_ip_set_ids : rule.not_dst_named_port_ip_set_ids;
    if (ports !== undefined || named !== undefined)
      draft.statements.push(...matchNoPorts(side, ports, named, family, sets));
  }
  return true;
}

const SIDES: readonly Side[] = ["src", "dst"];

function add({ groups, statements }: Draft, field: FieldMatch): boolean {
  if (field.kind === "never") return false;
  if (field.kind === "any") groups.push(field.alternatives);
  else for (const statement of field.statements) statements.push(statement);
  return true;
}

/** Every set of the list must hold the operand: one field a set, since each may be two kernel sets. */
function addSets(draft: Draft, operand: Operand, ids: readonly string[] | undefined, sets: SetLookup): boolean {
  if (ids === undefined) return true;
  for (const id of ids) if (!add(draft, matchSet(operand, sets(id).names))) return false;
  return true;
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
