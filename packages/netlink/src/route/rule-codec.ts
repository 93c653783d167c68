import { addressBytes } from "@bulrush/ip";
import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { AF_INET, AF_INET6 } from "./constants.ts";
import type { RoutingRule } from "./rule.ts";
import { addressText, badArgument, kernelFamily, mustCidr } from "./text-codec.ts";

/** linux/fib_rules.h; `struct fib_rule_hdr` has 12 bytes. */
const FRA = {
  DST: 1,
  SRC: 2,
  IIFNAME: 3,
  PRIORITY: 6,
  FWMARK: 10,
  TABLE: 15,
  FWMASK: 16,
  OIFNAME: 17,
  PROTOCOL: 21,
} as const;
const FR_ACT_TO_TBL = 1;
const FIB_RULE_INVERT = 2;
const RULE_BODY_BYTES = 12;
/** RT_TABLE_UNSPEC: the number stands in the attribute, which has room for it. */
const TABLE_IN_ATTRIBUTE = 0;
const ALL_BITS = 0xffffffff;

/** `struct fib_rule_hdr` of a dump request: all but the family is 0. */
export function writeRuleFilter(writer: MessageWriter, family: number): void {
  writeBody(writer, family, 0, 0, 0);
}

export function writeRule(writer: MessageWriter, rule: RoutingRule): void {
  const source = rule.source === undefined ? undefined : mustCidr(rule.source);
  if (source !== undefined && source.family !== rule.family) throw badArgument("source of the rule", rule.source);
  if (!(rule.table > 0 && rule.table <= ALL_BITS)) throw badArgument("routing table", rule.table);
  const invert = rule.invert === true ? FIB_RULE_INVERT : 0;
  writeBody(writer, kernelFamily(rule.family), source?.prefixLength ?? 0, FR_ACT_TO_TBL, invert);
  writer.attrU32(FRA.PRIORITY, rule.priority);
  writer.attrU32(FRA.TABLE, rule.table);
  if (source !== undefined) writer.attrBytes(FRA.SRC, addressBytes(source));
  if (rule.mark !== undefined) {
    writer.attrU32(FRA.FWMARK, rule.mark.value >>> 0);
    writer.attrU32(FRA.FWMASK, rule.mark.mask >>> 0);
  }
  if (rule.protocol !== undefined) writer.attrU8(FRA.PROTOCOL, rule.protocol);
}

/**
 * `undefined` for rules that are none of ours to make: other families, other actions than to ask a table, and other
 * conditions (destination, interface).
 */
export function decodeRule(message: MessageReader): RoutingRule | undefined {
  const kernel = message.u8(0);
  if (kernel !== AF_INET && kernel !== AF_INET6) return undefined;
  if (message.u8(7) !== FR_ACT_TO_TBL) return undefined;
  const sourceLength = message.u8(2);
  const rule: { -readonly [K in keyof RoutingRule]: RoutingRule[K] } = {
    family: kernel === AF_INET ? 4 : 6,
    priority: 0,
    table: message.u8(4),
  };
  if ((message.u32(8) & FIB_RULE_INVERT) !== 0) rule.invert = true;
  let value: number | undefined;
  let mask = ALL_BITS;
  const attributes = message.attributes(RULE_BODY_BYTES);
  while (attributes.next())
    switch (attributes.type) {
      case FRA.PRIORITY:
        rule.priority = attributes.u32();
        break;
      case FRA.TABLE:
        rule.table = attributes.u32();
        break;
      case FRA.SRC: {
        const address = addressText(attributes.bytes());
        if (address !== undefined) rule.source = `${address}/${sourceLength}`;
        break;
      }
      case FRA.FWMARK:
        value = attributes.u32();
        break;
      case FRA.FWMASK:
        mask = attributes.u32();
        break;
      case FRA.PROTOCOL:
        if (attributes.u8() !== 0) rule.protocol = attributes.u8();
        break;
      case FRA.DST:
      case FRA.IIFNAME:
      case FRA.OIFNAME:
        return undefined;
      default:
    }
  if (value !== undefined) rule.mark = { value, mask };
  return rule;
}

function writeBody(writer: MessageWriter, family: number, sourceLength: number, action: number, flags: number): void {
  writer.u8(family);
  writer.u8(0);
  writer.u8(sourceLength);
  writer.u8(0);
  writer.u8(TABLE_IN_ATTRIBUTE);
  writer.u8(0);
  writer.u8(0);
  writer.u8(action);
  writer.u32(flags);
}
