import { unreachable } from "@bulrush/base";
import { addressBytes, parseAddress } from "@bulrush/ip";
import type { Expression } from "../expression/expression.ts";
import { NAT_FULLY_RANDOM } from "../expression/masq.ts";
import { META_KEY } from "../expression/meta.ts";
import { invalid } from "../invalid.ts";
import type { RuleState, TableFamily } from "../state.ts";
import type { Statement } from "../statement.ts";
import { bigEndian, littleEndian } from "../wire/bytes.ts";
import { REG_1, REG_VERDICT } from "../wire/register.ts";
import type { AnonymousSet } from "./anonymous-set.ts";
import { compileMatch } from "./compile-match.ts";
import { rejectExpression } from "./compile-reject.ts";
import { operandParts, operandShape } from "./operand-shape.ts";
import { loadOperand, type RuleBuilder } from "./rule-builder.ts";

/** A rule as the kernel takes it. A lookup in an anonymous set has its index in `sets` as `setId`. */
export interface CompiledRule {
  readonly expressions: readonly Expression[];
  readonly sets: readonly AnonymousSet[];
}

const UNIT_SECONDS = { second: 1, minute: 60, hour: 3600, day: 86400 } as const;
const LOG_LEVEL = { warn: 4, info: 6 } as const;
/** NF_LOG_PREFIXLEN less the NUL. */
const MAX_LOG_PREFIX_BYTES = 127;

/**
 * Turns a rule into kernel expressions: what nft would make of the same rule, with the one dependency that nft adds by
 * itself (an `icmp type` match means that the protocol is ICMP; in `inet` tables, an `ip saddr` match means IPv4).
 * Throws NFT_INVALID.
 */
export function compileRule(rule: RuleState, family: TableFamily): CompiledRule {
  const builder: RuleBuilder = { family, expressions: [], sets: [], l4proto: undefined, nfproto: undefined };
  for (const statement of rule.statements) compileStatement(builder, statement);
  return builder;
}

/** The expressions of a statement that does not depend on the others of its rule. Throws NFT_INVALID. */
export function compileOne(statement: Statement, family: TableFamily): readonly Expression[] {
  const builder: RuleBuilder = { family, expressions: [], sets: [], l4proto: undefined, nfproto: undefined };
  compileStatement(builder, statement);
  return builder.expressions;
}

function compileStatement(builder: RuleBuilder, statement: Statement): void {
  const out = builder.expressions;
  switch (statement.kind) {
    case "match":
      return compileMatch(builder, statement);
    case "counter":
      out.push({ name: "counter", packets: 0n, bytes: 0n });
      return;
    case "verdict":
      out.push({ name: "immediate", dreg: REG_VERDICT, data: statement.verdict });
      return;
    case "vmap":
      loadOperand(builder, statement.key);
      out.push({ name: "lookup", sreg: REG_1, set: statement.map, map: true, inverted: false });
      return;
    case "set-element":
      compileSetElement(builder, statement);
      return;
    case "set-mark":
      compileSetMark(out, statement.mask, statement.value);
      return;
    case "log":
      checkPrefix(statement.prefix);
      out.push({ name: "log", prefix: statement.prefix, target: { kind: "level", level: LOG_LEVEL[statement.level] } });
      return;
    case "nflog": {
      checkPrefix(statement.prefix);
      const { group, snaplen } = statement;
      out.push({ name: "log", prefix: statement.prefix, target: { kind: "group", group, snaplen } });
      return;
    }
    case "limit": {
      const { rate, unit, burst, over } = statement;
      out.push({ name: "limit", rate, unitSeconds: UNIT_SECONDS[unit], burst, over, bytes: false });
      return;
    }
    case "connlimit":
      out.push({ name: "connlimit", count: statement.count, over: statement.over });
      return;
    case "reject":
      out.push(rejectExpression(builder, statement.with));
      return;
    case "notrack":
      out.push({ name: "notrack" });
      return;
    case "masquerade":
      compileMasquerade(out, statement);
      return;
    case "nat":
      compileNat(out, statement);
      return;
    case "set-dscp":
      compileSetDscp(out, statement.family, statement.dscp);
      return;
    case "flow-offload":
      out.push({ name: "flow_offload", flowtable: statement.flowtable });
      return;
    default:
      return unreachable(statement);
  }
}

function compileSetElement(builder: RuleBuilder, statement: Extract<Statement, { kind: "set-element" }>): void {
  const { change, key, set } = statement;
  let timeoutMs = 0;
  if (statement.change !== "delete") {
    const { timeoutSeconds } = statement;
    if (!Number.isSafeInteger(timeoutSeconds) || timeoutSeconds < 1) throw invalid("time in a set", timeoutSeconds);
    timeoutMs = timeoutSeconds * 1000;
  }
  if (operandParts(key).some((part) => operandShape(part).field !== undefined))
    throw invalid("element of a bit field in", set);
  loadOperand(builder, key);
  builder.expressions.push({ name: "dynset", op: change, set, keyRegister: REG_1, timeoutMs, inverted: false });
}

function compileSetMark(out: Expression[], mask: number, value: number): void {
  if ((value & ~mask) !== 0) throw invalid("mark outside its mask", `0x${value.toString(16)}`);
  if (mask >>> 0 === 0xffffffff) out.push({ name: "immediate", dreg: REG_1, data: littleEndian(value >>> 0, 4) });
  else
    out.push(
      { name: "meta", direction: "load", key: META_KEY.mark, register: REG_1 },
      {
        name: "bitwise",
        sreg: REG_1,
        dreg: REG_1,
        mask: littleEndian(~mask >>> 0, 4),
        xor: littleEndian(value >>> 0, 4),
        op: 0,
      },
    );
  out.push({ name: "meta", direction: "set", key: META_KEY.mark, register: REG_1 });
}

function checkPrefix(prefix: string): void {
  if (Buffer.byteLength(prefix) > MAX_LOG_PREFIX_BYTES) throw invalid("log prefix", prefix);
}

function compileMasquerade(out: Expression[], statement: Extract<Statement, { kind: "masquerade" }>): void {
  const { first, last } = loadPorts(out, 0, statement.ports);
  const flags = statement.fullyRandom ? NAT_FULLY_RANDOM : 0;
  out.push({ name: "masq", flags, firstPortRegister: first, lastPortRegister: last });
}

function compileNat(out: Expression[], statement: Extract<Statement, { kind: "nat" }>): void {
  const address = parseAddress(statement.address);
  if (address === undefined) throw invalid("NAT address", statement.address);
  out.push({ name: "immediate", dreg: REG_1, data: addressBytes(address) });
  const { first, last } = loadPorts(out, 1, statement.ports);
  out.push({
    name: "nat",
    type: statement.type,
    family: address.family,
    firstAddressRegister: REG_1,
    lastAddressRegister: REG_1,
    firstPortRegister: first,
    lastPortRegister: last,
    flags: 0,
  });
}

/** Puts a range of ports into the 16-byte registers after `used` ones; 0 and 0 when there is none. */
function loadPorts(
  out: Expression[],
  used: number,
  ports: { readonly first: number; readonly last: number } | undefined,
): { first: number; last: number } {
  if (ports === undefined) return { first: 0, last: 0 };
  const valid = (port: number): boolean => Number.isInteger(port) && port >= 0 && port <= 0xffff;
  if (!valid(ports.first) || !valid(ports.last) || ports.first > ports.last)
    throw invalid("port range", `${ports.first}-${ports.last}`);
  const first = used + 1;
  out.push({ name: "immediate", dreg: first, data: bigEndian(ports.first, 2) });
  if (ports.first === ports.last) return { first, last: first };
  out.push({ name: "immediate", dreg: first + 1, data: bigEndian(ports.last, 2) });
  return { first, last: first + 1 };
}

/** The two bytes at the header's start hold the DSCP of both families; only IPv4 has a checksum to mend. */
function compileSetDscp(out: Expression[], family: 4 | 6, dscp: number): void {
  if (!Number.isInteger(dscp) || dscp < 0 || dscp > 63) throw invalid("DSCP", dscp);
  const at = { register: REG_1, base: "network", offset: 0, length: 2 } as const;
  out.push(
    { name: "payload", direction: "load", ...at },
    {
      name: "bitwise",
      sreg: REG_1,
      dreg: REG_1,
      mask: family === 4 ? Uint8Array.of(0xff, 0x03) : Uint8Array.of(0xf0, 0x3f),
      xor: bigEndian(family === 4 ? dscp << 2 : dscp << 6, 2),
      op: 0,
    },
    { name: "payload", direction: "write", ...at, ...(family === 4 ? { checksumOffset: 10 } : {}) },
  );
}
