import type { TableFamily } from "../state.ts";
import type { CtKey, Literal, MetaKey, Operand, PayloadField, Right, Statement } from "../statement.ts";

/** A rule, how nft writes it, and what nft makes of that (as `nft --debug=netlink` tells it, in the words of keys). */
export interface CatalogueEntry {
  readonly families: readonly TableFamily[];
  /** Hook that the rule needs; any will do where it is missing. */
  readonly hook?: "nat-prerouting" | "nat-postrouting" | "filter-input";
  readonly statements: readonly Statement[];
  readonly text: string;
  readonly key: string;
}

export const payload = (field: PayloadField): Operand => ({ kind: "payload", field });
export const meta = (key: MetaKey): Operand => ({ kind: "meta", key });
export const ct = (key: CtKey): Operand => ({ kind: "ct", key });
export const is = (left: Operand, right: Right): Statement => ({ kind: "match", left, op: "==", right });
export const isNot = (left: Operand, right: Right): Statement => ({ kind: "match", left, op: "!=", right });
export const value = (literal: Literal): Right => ({ kind: "value", value: literal });
export const cidr = (text: string): Right => ({ kind: "cidr", cidr: text });
export const masked = (mask: number, wanted: number): Right => ({ kind: "masked", mask, value: wanted });
export const range = (first: number, last: number): Right => ({ kind: "range", first, last });
export const set = (name: string): Right => ({ kind: "set", name });
export function anonymous(...elements: Extract<Right, { kind: "anonymous" }>["elements"]): Right {
  return { kind: "anonymous", elements };
}
export const TCP: Statement = is(meta("l4proto"), value("tcp"));
export const TCP_KEY = "meta load 16 1; cmp eq 1 0x06";
export const DROP: Statement = { kind: "verdict", verdict: { kind: "drop" } };
export const PORT_KEY = "payload load 1 transport 2 2";

export function entry(
  families: readonly TableFamily[],
  statements: readonly Statement[],
  text: string,
  key: string,
  hook?: CatalogueEntry["hook"],
): CatalogueEntry {
  return { families, statements, text, key, ...(hook === undefined ? {} : { hook }) };
}

export const IP: readonly TableFamily[] = ["ip"];
export const IP6: readonly TableFamily[] = ["ip6"];
export const INET: readonly TableFamily[] = ["inet"];
export const IPS: readonly TableFamily[] = ["ip", "ip6", "inet"];
