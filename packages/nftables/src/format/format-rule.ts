import { unreachable } from "@bulrush/base";
import type { RuleState, TableFamily } from "../state.ts";
import type { Statement } from "../statement.ts";
import { verdictText } from "../wire/data-value.ts";
import { hex32, quoted } from "./format-literal.ts";
import { formatMatch, formatOperand } from "./format-match.ts";

/**
 * One rule in nft syntax, on one line. nft reads it back as the same expressions, with one exception that no syntax
 * can avoid: a double quote in a log prefix or comment reads as an apostrophe. Throws NFT_INVALID as encoding does.
 */
export function formatRule(rule: RuleState, family: TableFamily): string {
  const words = rule.statements.map((statement) => formatStatement(statement, family));
  if (rule.comment !== undefined) words.push(`comment ${quoted(rule.comment)}`);
  return words.join(" ");
}

function formatStatement(statement: Statement, family: TableFamily): string {
  switch (statement.kind) {
    case "match":
      return formatMatch(statement);
    case "counter":
      return "counter";
    case "verdict":
      return verdictText(statement.verdict);
    case "vmap":
      return `${formatOperand(statement.key)} vmap @${statement.map}`;
    case "set-element": {
      const timeout = statement.change === "delete" ? "" : ` timeout ${statement.timeoutSeconds}s`;
      return `${statement.change} @${statement.set} { ${formatOperand(statement.key)}${timeout} }`;
    }
    case "set-mark":
      return formatSetMark(statement.mask, statement.value);
    case "log": {
      const prefix = statement.prefix === "" ? "" : ` prefix ${quoted(statement.prefix)}`;
      return `log${prefix}${statement.level === "info" ? " level info" : ""}`;
    }
    case "nflog": {
      const snaplen = statement.snaplen > 0 ? ` snaplen ${statement.snaplen}` : "";
      const prefix = statement.prefix === "" ? "" : ` prefix ${quoted(statement.prefix)}`;
      return `log${prefix} group ${statement.group}${snaplen}`;
    }
    case "limit": {
      const { rate, unit, burst, over } = statement;
      return `limit rate ${over ? "over " : ""}${rate}/${unit} burst ${burst} packets`;
    }
    case "connlimit":
      return `ct count ${statement.over ? "over " : ""}${statement.count}`;
    case "reject":
      return `reject with ${formatReason(statement.with, family)}`;
    case "notrack":
      return "notrack";
    case "masquerade": {
      const ports = statement.ports === undefined ? "" : ` to :${portsText(statement.ports)}`;
      return `masquerade${ports}${statement.fullyRandom ? " fully-random" : ""}`;
    }
    case "nat":
      return formatNat(statement, family);
    case "set-dscp":
      return `${statement.family === 4 ? "ip" : "ip6"} dscp set 0x${statement.dscp.toString(16).padStart(2, "0")}`;
    case "flow-offload":
      return `flow add @${statement.flowtable}`;
    default:
      return unreachable(statement);
  }
}

function formatSetMark(mask: number, value: number): string {
  const keep = ~mask >>> 0;
  if (keep === 0) return `meta mark set ${hex32(value)}`;
  if (value === mask) return `meta mark set meta mark | ${hex32(value)}`;
  const set = value === 0 ? "" : ` | ${hex32(value)}`;
  return `meta mark set meta mark & ${hex32(keep)}${set}`;
}

function formatReason(reason: Extract<Statement, { kind: "reject" }>["with"], family: TableFamily): string {
  if (reason === "tcp-reset") return "tcp reset";
  const code = reason.slice("icmpx-".length);
  return `${family === "ip" ? "icmp" : family === "ip6" ? "icmpv6" : "icmpx"} ${code}`;
}

function portsText(ports: { readonly first: number; readonly last: number }): string {
  return ports.first === ports.last ? String(ports.first) : `${ports.first}-${ports.last}`;
}

function formatNat(statement: Extract<Statement, { kind: "nat" }>, family: TableFamily): string {
  const { type, address, ports } = statement;
  const isIPv6 = address.includes(":");
  const which = family === "inet" ? ` ${isIPv6 ? "ip6" : "ip"}` : "";
  if (ports === undefined) return `${type}${which} to ${address}`;
  return `${type}${which} to ${isIPv6 ? `[${address}]` : address}:${portsText(ports)}`;
}
