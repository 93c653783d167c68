import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageWriter } from "./message-writer.ts";

function writeAll(writer: MessageWriter): void {
  writer.message(1, 2, 3);
  writer.u8(1);
  writer.u8(2);
  writer.u16(3);
  writer.u16be(4);
  writer.u16(5);
  writer.u32(6);
  writer.u32be(7);
  writer.raw(Uint8Array.of(8, 9, 10, 11));
  writer.attrFlag(1);
  writer.attrU8(2, 12);
  writer.attrU16(3, 13);
  writer.attrU16be(4, 14);
  writer.attrU32(5, 15);
  writer.attrU32be(6, 16);
  writer.attrU64(7, 17);
  writer.attrU64be(7, 17);
  writer.attrBytes(8, Uint8Array.of(18));
  const mark = writer.nest(9);
  writer.attrString(10, "text");
  writer.endNest(mark);
  writer.endMessage();
}

test("MessageWriter writes the same, wherever its buffer has to grow", () => {
  const large = new MessageWriter(4096);
  writeAll(large);
  const expected = Buffer.from(large.bytes).toString("hex");
  for (let initialBytes = 1; initialBytes <= large.length; initialBytes++) {
    const small = new MessageWriter(initialBytes);
    writeAll(small);
    assert.equal(Buffer.from(small.bytes).toString("hex"), expected, `from ${initialBytes} bytes`);
  }
});
