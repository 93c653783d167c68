import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageReader, MessageWriter, writeNfgen } from "@bulrush/netlink";
import { fuzzReader } from "@bulrush/netlink/testing";
import { readChain } from "./chain-codec.ts";
import { type KernelElement, readElements, writeElements, writeElementsHead } from "./element-codec.ts";
import { readRule } from "./rule-codec.ts";
import { readSet } from "./set-codec.ts";
import { readComment, ruleUserData } from "./user-data.ts";

test("readers of random bytes throw nothing but NetlinkError, and end", () => {
  fuzzReader([0xa06], (message) => readRule(message));
  fuzzReader([0xa03], (message) => {
    readChain(message, "ip");
    readChain(message, "arp");
  });
  fuzzReader([0xa09], (message) => readSet(message));
  fuzzReader([0xa0c], (message) => readElements(message, []));
});

test("ruleUserData() writes type, length and a NUL, and readComment() reads it", () => {
  assert.deepEqual([...ruleUserData("abc")], [0, 4, 97, 98, 99, 0]);
  for (const comment of ["", "x", "ü", "x".repeat(253)]) assert.equal(readComment(ruleUserData(comment)), comment);
  assert.equal(ruleUserData("x".repeat(253)).length, 256, "the most that the kernel takes");
  assert.throws(() => ruleUserData("x".repeat(254)), /Invalid comment/);
  assert.throws(() => ruleUserData("a\0b"), /Invalid comment/);
});

test("readComment() finds no comment in other notes, and survives broken ones", () => {
  assert.equal(readComment(Uint8Array.of()), undefined);
  assert.equal(readComment(Uint8Array.of(1, 2, 9, 9)), undefined);
  assert.equal(readComment(Uint8Array.of(1, 1, 9, 0, 2, 97, 0)), "a");
  assert.equal(readComment(Uint8Array.of(0, 200, 97)), undefined);
  assert.equal(readComment(Uint8Array.of(0)), undefined);
});

test("writeElements() cuts a list where an attribute's length ends, and loses nothing", () => {
  const elements = Array.from(
    { length: 20_000 },
    (_, i): KernelElement => ({
      key: Uint8Array.of(10, i >> 16, (i >> 8) & 255, i & 255),
      end: i % 2 === 1,
      ...(i % 3 === 0 ? { verdict: { kind: "goto", chain: "x".repeat(255) } as const } : {}),
    }),
  );
  const read: KernelElement[] = [];
  let messages = 0;
  for (let next = 0; next < elements.length; messages++) {
    const writer = new MessageWriter();
    writer.message(0xa0c, 0, 1);
    writeNfgen(writer, 2);
    writeElementsHead(writer, "t", "s");
    next = writeElements(writer, elements, next);
    writer.endMessage();
    const reader = new MessageReader(writer.bytes);
    assert.ok(reader.next());
    readElements(reader, read);
  }
  assert.ok(messages > 1);
  assert.deepEqual(read, elements);
});
