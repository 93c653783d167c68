import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "@bulrush/base";
import { MessageReader } from "../message/message-reader.ts";
import { MessageWriter } from "../message/message-writer.ts";
import { fuzzReader } from "../testing/fuzz.ts";
import { hexLines, unhex } from "../testing/hex.ts";
import { writeOperation } from "./operation-codec.ts";
import { decodeRule } from "./rule-codec.ts";
import type { RoutingRule } from "./rule.ts";

/** The body of the message, a word of four bytes each: `struct fib_rule_hdr`, then FRA_ attributes (linux/fib_rules.h). */
const RULES: readonly { readonly name: string; readonly rule: RoutingRule; readonly body: string }[] = [
  {
    name: "packets without a mark bit to a table",
    rule: { family: 4, priority: 99, table: 1, mark: { value: 0x200000, mask: 0x200000 }, invert: true },
    body: `02000000 00000001 02000000
      08000600 63000000 08000f00 01000000 08000a00 00002000 08001000 00002000`,
  },
  {
    name: "a source network of IPv6 to a table above 255, with a protocol",
    rule: { family: 6, priority: 1000, table: 4096, source: "fd00:1::/64", protocol: 80 },
    body: `0a004000 00000001 00000000
      08000600 e8030000 08000f00 00100000 14000200 fd000001 00000000 00000000 00000000 05001500 50000000`,
  },
];

for (const { body, name, rule } of RULES)
  test(`writeOperation() and decodeRule() agree on ${name}`, () => {
    const writer = new MessageWriter();
    writeOperation(writer, 3, { kind: "add-rule", rule });
    assert.equal(hexLines(writer.bytes.subarray(4, 8)), "20000106");
    assert.equal(hexLines(writer.bytes.subarray(16)), hexLines(unhex(body)));
    const reader = new MessageReader(writer.bytes);
    assert.ok(reader.next());
    assert.deepEqual(decodeRule(reader), rule);
  });

const FOREIGN = [
  ["one with a destination", "02180000 00000001 00000000 08000100 0a000000"],
  ["one of an interface", "02000000 00000001 00000000 07000300 6c6f0000"],
  ["one that drops", "02000000 00000006 00000000"],
  ["one of another family", "80000000 00000001 00000000"],
] as const;

for (const [name, body] of FOREIGN)
  test(`decodeRule() leaves out ${name}`, () => {
    const bytes = unhex(`00000000 20000000 00000000 00000000 ${body}`);
    new DataView(bytes.buffer).setUint32(0, bytes.length, true);
    const reader = new MessageReader(bytes);
    assert.ok(reader.next());
    assert.equal(decodeRule(reader), undefined);
  });

test("writeOperation() refuses rules that cannot be", () => {
  for (const rule of [
    { family: 4, priority: 1, table: 0 },
    { family: 4, priority: 1, table: 1, source: "fd00::/8" },
  ] satisfies RoutingRule[])
    assert.throws(
      () => writeOperation(new MessageWriter(), 1, { kind: "add-rule", rule }),
      (error) => hasCode(error, "NETLINK_ARGUMENT"),
    );
});

test("decodeRule() throws nothing but NetlinkError on random bytes, and ends", () => {
  fuzzReader([32], (message) => decodeRule(message));
});
