import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "@bulrush/base";
import type { TableFamily } from "../state.ts";
import type { Operand, Right, Statement } from "../statement.ts";
import { compileRule } from "./compile-rule.ts";

const match = (left: Operand, right: Right): Statement => ({ kind: "match", left, op: "==", right });
const PORT: Operand = { kind: "payload", field: "th dport" };
const SOURCE: Operand = { kind: "payload", field: "ip saddr" };
const MARK: Operand = { kind: "meta", key: "mark" };

/** Rules that must be refused: what they would do is not what they say. */
const BAD: readonly {
  readonly name: string;
  readonly family?: TableFamily;
  readonly statements: readonly Statement[];
}[] = [
  { name: "an address of the other family", statements: [match(SOURCE, { kind: "value", value: "::1" })] },
  { name: "a CIDR of the other family", statements: [match(SOURCE, { kind: "cidr", cidr: "fd00::/8" })] },
  { name: "a CIDR that is none", statements: [match(SOURCE, { kind: "cidr", cidr: "10.0.0.0/33" })] },
  { name: "a CIDR beside a port", statements: [match(PORT, { kind: "cidr", cidr: "10.0.0.0/8" })] },
  {
    name: "an IPv4 match in an ip6 table",
    family: "ip6",
    statements: [match(SOURCE, { kind: "cidr", cidr: "10.0.0.0/8" })],
  },
  { name: "a port over 65535", statements: [match(PORT, { kind: "value", value: 65536 })] },
  { name: "a negative port", statements: [match(PORT, { kind: "value", value: -1 })] },
  { name: "a range backwards", statements: [match(PORT, { kind: "range", first: 9, last: 1 })] },
  { name: "an empty anonymous set", statements: [match(PORT, { kind: "anonymous", elements: [] })] },
  {
    name: "a range of marks, which are in host order",
    statements: [match(MARK, { kind: "range", first: 1, last: 9 })],
  },
  {
    name: "a protocol that nobody knows",
    statements: [match({ kind: "meta", key: "l4proto" }, { kind: "value", value: "xyz" })],
  },
  {
    name: "an interface name of 16 bytes",
    statements: [match({ kind: "meta", key: "iifname" }, { kind: "value", value: "sixteen-bytes-xx" })],
  },
  {
    name: "an empty interface prefix",
    statements: [match({ kind: "meta", key: "iifname" }, { kind: "prefix", prefix: "" })],
  },
  { name: "a reset in a rule that has not matched TCP", statements: [{ kind: "reject", with: "tcp-reset" }] },
  {
    name: "a reset in a rule that matched UDP",
    statements: [
      match({ kind: "meta", key: "l4proto" }, { kind: "value", value: "udp" }),
      { kind: "reject", with: "tcp-reset" },
    ],
  },
  {
    name: "an ICMP type in a rule that matched TCP",
    statements: [
      match({ kind: "meta", key: "l4proto" }, { kind: "value", value: "tcp" }),
      match({ kind: "payload", field: "icmp type" }, { kind: "value", value: 8 }),
    ],
  },
  { name: "a mark outside its mask", statements: [{ kind: "set-mark", mask: 1, value: 2 }] },
  { name: "a DSCP over 63", statements: [{ kind: "set-dscp", family: 4, dscp: 64 }] },
  { name: "a log prefix of 128 bytes", statements: [{ kind: "log", prefix: "x".repeat(128), level: "info" }] },
  { name: "NAT to what is no address", statements: [{ kind: "nat", type: "dnat", address: "10.0.0" }] },
  {
    name: "NAT to a port range backwards",
    statements: [{ kind: "nat", type: "dnat", address: "10.0.0.1", ports: { first: 2, last: 1 } }],
  },
  {
    name: "a concatenation beside a value",
    statements: [match({ kind: "concat", parts: [SOURCE, PORT] }, { kind: "value", value: 1 })],
  },
  {
    name: "a set lookup of DSCP",
    statements: [match({ kind: "payload", field: "ip dscp" }, { kind: "set", name: "s" })],
  },
];

for (const { name, family, statements } of BAD)
  test(`compileRule() refuses ${name}`, () => {
    assert.throws(
      () => compileRule({ statements }, family ?? "ip"),
      (error) => hasCode(error, "NFT_INVALID"),
    );
  });

test("compileRule() adds no protocol match that the rule has already", () => {
  const icmp = match({ kind: "payload", field: "icmp type" }, { kind: "value", value: 8 });
  const names = (statements: readonly Statement[]): string[] =>
    compileRule({ statements }, "ip").expressions.map(({ name }) => name);
  assert.deepEqual(names([icmp]), ["meta", "cmp", "payload", "cmp"]);
  assert.deepEqual(names([icmp, icmp]), ["meta", "cmp", "payload", "cmp", "payload", "cmp"]);
  const protocol = match({ kind: "meta", key: "l4proto" }, { kind: "value", value: 1 });
  assert.deepEqual(names([protocol, icmp]), ["meta", "cmp", "payload", "cmp"]);
});
