import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageReader, MessageWriter, writeNfgen } from "@bulrush/netlink";
import { fuzzReader } from "@bulrush/netlink/testing";
import { readChain } from "./chain-codec.ts";
import {
  type KernelElement,
  readElements,
  readIPv4Elements,
  writeElements,
  writeElementsHead,
} from "./element-codec.ts";
import { readFlowtable, writeFlowtable, writeFlowtableDevices, writeFlowtableRef } from "./flowtable-codec.ts";
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
  fuzzReader([0xa0c], (message) => readIPv4Elements(message, new Set()));
  fuzzReader([0xa16], (message) => readFlowtable(message));
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

/** A message of the family "ip", and its attributes as hexadecimal. */
function attributesOf(write: (writer: MessageWriter) => void): {
  readonly hex: string;
  readonly reader: MessageReader;
} {
  const writer = new MessageWriter();
  writer.message(0xa16, 0, 1);
  writeNfgen(writer, 2);
  write(writer);
  writer.endMessage();
  const reader = new MessageReader(writer.bytes);
  assert.ok(reader.next());
  return { hex: Buffer.from(writer.bytes.subarray(20)).toString("hex"), reader };
}

/** What `nft --debug=mnl` shows that it sends, attribute by attribute. */
const FLOWTABLES = {
  name: "06000100 74000000 06000200 66000000",
  devices: "28000380 08000100 00000000 08000200 00000000 14000380 07000100 76310000 07000100 76300000",
  flags: "08000700 00000002",
};
const hexOf = (...parts: string[]): string => parts.join("").replaceAll(" ", "");

test("writeFlowtable() and its kin write what nft writes", () => {
  const flowtable = { name: "f", devices: ["v1", "v0"] };
  assert.equal(
    attributesOf((writer) => writeFlowtable(writer, "t", flowtable)).hex,
    hexOf(FLOWTABLES.name, FLOWTABLES.devices, FLOWTABLES.flags),
  );
  assert.equal(
    attributesOf((writer) => writeFlowtableDevices(writer, "t", flowtable)).hex,
    hexOf(FLOWTABLES.name, FLOWTABLES.devices),
  );
  assert.equal(attributesOf((writer) => writeFlowtableRef(writer, "t", "f")).hex, hexOf(FLOWTABLES.name));
  assert.equal(attributesOf((writer) => writeFlowtableRef(writer, "t", "")).hex, hexOf("06000100 74000000"));
});

test("readFlowtable() reads what was written, and knows what is none of ours", () => {
  const flowtable = { name: "f", devices: ["v1", "v0"] };
  const written = { table: "t", isOwnKind: true, ...flowtable };
  assert.deepEqual(readFlowtable(attributesOf((writer) => writeFlowtable(writer, "t", flowtable)).reader), written);
  const withoutCounter = attributesOf((writer) => writeFlowtableDevices(writer, "t", flowtable)).reader;
  assert.equal(readFlowtable(withoutCounter).isOwnKind, false, "it does not count");
});
