import type { Literal, Operand } from "../statement.ts";
import { protocolNumber, protocolText } from "../wire/protocol.ts";
import { FIB_TYPES } from "../compile/operand-shape.ts";

/** Text in nft's quotes, which know no escape: a quote inside becomes an apostrophe. */
export function quoted(text: string): string {
  return `"${text.replaceAll('"', "'")}"`;
}

export function hex32(value: number): string {
  return `0x${(value >>> 0).toString(16).padStart(8, "0")}`;
}

/** A value as nft writes it beside this operand. */
export function formatLiteral(operand: Operand, value: Literal): string {
  switch (operand.kind) {
    case "meta":
      if (operand.key === "iifname" || operand.key === "oifname") return quoted(String(value));
      if (operand.key === "mark") return typeof value === "number" ? hex32(value) : value;
      if (operand.key === "l4proto") return protocolText(protocolNumber(value) ?? 0);
      return value === 2 ? "ipv4" : value === 10 ? "ipv6" : String(value);
    case "ct":
      if (operand.key === "direction") return value === 0 ? "original" : value === 1 ? "reply" : String(value);
      return typeof value === "number" ? `0x${value.toString(16)}` : value;
    case "fib":
      if (operand.result === "oif" || typeof value === "string") return String(value);
      return Object.entries(FIB_TYPES).find(([, number]) => number === value)?.[0] ?? String(value);
    case "payload":
      if (operand.field === "icmp type-code") return `0x${Number(value).toString(16).padStart(4, "0")}`;
      if (operand.field === "ip dscp" || operand.field === "ip6 dscp")
        return `0x${Number(value).toString(16).padStart(2, "0")}`;
      return String(value);
    case "concat":
      return String(value);
  }
}
