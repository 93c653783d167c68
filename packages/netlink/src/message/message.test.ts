import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasCode } from "@bulrush/base";
import { NetlinkError } from "../errors.ts";
import { hexLines, unhex } from "../testing/hex.ts";
import { AttributeReader } from "./attribute-reader.ts";
import { NLM_F } from "./header.ts";
import { decodeKernelAnswer } from "./kernel-answer.ts";
import { MessageReader } from "./message-reader.ts";
import { MessageWriter } from "./message-writer.ts";

interface WriterCase {
  readonly name: string;
  readonly write: (writer: MessageWriter) => void;
  /** A word of four bytes each. */
  readonly bytes: string;
}

const WRITER_CASES: readonly WriterCase[] = [
  { name: "no attribute, length 16", write: () => {}, bytes: "10000000 34120500 07000000 00000000" },
  {
    name: "u8, padded",
    write: (w) => w.attrU8(1, 0xab),
    bytes: "18000000 34120500 07000000 00000000 05000100 ab000000",
  },
  {
    name: "u16, host order, padded",
    write: (w) => w.attrU16(2, 0x1234),
    bytes: "18000000 34120500 07000000 00000000 06000200 34120000",
  },
  {
    name: "u16, big-endian, padded",
    write: (w) => w.attrU16be(2, 0x1234),
    bytes: "18000000 34120500 07000000 00000000 06000200 12340000",
  },
  {
    name: "u32, host order",
    write: (w) => w.attrU32(3, 0x12345678),
    bytes: "18000000 34120500 07000000 00000000 08000300 78563412",
  },
  {
    name: "u32, big-endian",
    write: (w) => w.attrU32be(3, 0xfffffffe),
    bytes: "18000000 34120500 07000000 00000000 08000300 fffffffe",
  },
  {
    name: "u64, big-endian",
    write: (w) => w.attrU64be(4, 0x0102030405060708n),
    bytes: "1c000000 34120500 07000000 00000000 0c000400 01020304 05060708",
  },
  {
    name: "u64, host order",
    write: (w) => w.attrU64(4, 0x0102030405060708n),
    bytes: "1c000000 34120500 07000000 00000000 0c000400 08070605 04030201",
  },
  {
    name: "text, NUL, padded",
    write: (w) => w.attrString(5, "lo"),
    bytes: "18000000 34120500 07000000 00000000 07000500 6c6f0000",
  },
  {
    name: "text of four bytes, NUL in the next word",
    write: (w) => w.attrString(5, "eth0"),
    bytes: "1c000000 34120500 07000000 00000000 09000500 65746830 00000000",
  },
  {
    name: "text that is not ASCII",
    write: (w) => w.attrString(5, "é"),
    bytes: "18000000 34120500 07000000 00000000 07000500 c3a90000",
  },
  {
    name: "bytes, padded",
    write: (w) => w.attrBytes(6, Uint8Array.of(1, 2, 3, 4, 5)),
    bytes: "1c000000 34120500 07000000 00000000 09000600 01020304 05000000",
  },
  { name: "no payload", write: (w) => w.attrFlag(7), bytes: "14000000 34120500 07000000 00000000 04000700" },
  {
    name: "nested, length calculated, flag set",
    write: (w) => {
      const outer = w.nest(8);
      const inner = w.nest(1);
      w.attrU8(2, 1);
      w.endNest(inner);
      w.endNest(outer);
    },
    bytes: "20000000 34120500 07000000 00000000 10000880 0c000180 05000200 01000000",
  },
  {
    name: "fixed part of single numbers",
    write: (w) => {
      w.u8(1);
      w.u8(2);
      w.u16(0x0304);
      w.u16be(0x0304);
      w.u16(0);
      w.u32(5);
      w.u32be(5);
    },
    bytes: "20000000 34120500 07000000 00000000 01020403 03040000 05000000 00000005",
  },
];

for (const { name, write, bytes } of WRITER_CASES)
  test(`MessageWriter writes ${name}`, () => {
    // A small first buffer makes it grow at every place.
    for (let initial = 1; initial < 40; initial++) {
      const writer = new MessageWriter(initial);
      writer.message(0x1234, NLM_F.REQUEST | NLM_F.ACK, 7);
      write(writer);
      writer.endMessage();
      assert.equal(hexLines(writer.bytes), hexLines(unhex(bytes)), `initial buffer of ${initial} bytes`);
    }
  });

test("MessageWriter pads a message but does not count the padding in its length", () => {
  const writer = new MessageWriter();
  writer.message(1, 0, 1);
  writer.u8(9);
  writer.endMessage();
  writer.message(2, 0, 2);
  writer.endMessage();
  const reader = new MessageReader(writer.bytes);
  assert.ok(reader.next());
  assert.equal(reader.bodyEnd - reader.bodyStart, 1);
  assert.ok(reader.next());
  assert.equal(reader.type, 2);
  assert.ok(!reader.next());
});

test("MessageWriter refuses a nested attribute of more than 65,535 bytes", () => {
  const writer = new MessageWriter();
  writer.message(1, 0, 1);
  const nest = writer.nest(1);
  for (let i = 0; i < 8192; i++) writer.attrU32(1, i);
  assert.throws(
    () => writer.endNest(nest),
    (error) => hasCode(error, "NETLINK_ARGUMENT"),
  );
  assert.throws(
    () => writer.attrBytes(1, new Uint8Array(0xffff)),
    (error) => hasCode(error, "NETLINK_ARGUMENT"),
  );
});

test("MessageWriter.truncate() takes back a message", () => {
  const writer = new MessageWriter();
  writer.message(1, 0, 1);
  writer.endMessage();
  const before = writer.length;
  writer.message(2, 0, 2);
  writer.attrU32(1, 1);
  writer.truncate(before);
  writer.message(3, 0, 3);
  writer.endMessage();
  const reader = new MessageReader(writer.bytes);
  assert.ok(reader.next() && reader.next());
  assert.equal(reader.type, 3);
});

interface MalformedCase {
  readonly name: string;
  readonly bytes: string;
}

const MALFORMED: readonly MalformedCase[] = [
  { name: "a header cut short", bytes: "10000000 0100" },
  { name: "a length under that of a header", bytes: "0f000000 01000000 00000000 00000000" },
  { name: "a length of zero", bytes: "00000000 01000000 00000000 00000000" },
  { name: "a length over what is there", bytes: "14000000 01000000 00000000 00000000" },
  { name: "an attribute with a length of zero", bytes: "14000000 01000000 00000000 00000000 00000100" },
  { name: "an attribute with a length of three", bytes: "14000000 01000000 00000000 00000000 03000100" },
  { name: "an attribute over the message's end", bytes: "18000000 01000000 00000000 00000000 09000100 00000000" },
];

for (const { name, bytes } of MALFORMED)
  test(`MessageReader refuses ${name}`, () => {
    assert.throws(
      () => {
        const reader = new MessageReader(unhex(bytes));
        while (reader.next()) {
          const attributes = reader.attributes(0);
          while (attributes.next());
        }
      },
      (error) => error instanceof NetlinkError && error.code === "NETLINK_MALFORMED",
    );
  });

test("AttributeReader refuses to read a number from a payload that is too short", () => {
  const bytes = unhex("05000100 01000000");
  const read = (): AttributeReader => {
    const attributes = new AttributeReader(new DataView(bytes.buffer), 0, bytes.length);
    assert.ok(attributes.next());
    return attributes;
  };
  assert.equal(read().u8(), 1);
  for (const accessor of ["u16", "u16be", "u32", "i32", "u32be", "u64be"] as const)
    assert.throws(
      () => read()[accessor](),
      (error) => hasCode(error, "NETLINK_MALFORMED"),
      accessor,
    );
});

test("decodeKernelAnswer() reads errno, text and offset, with and without the message repeated", () => {
  const capped =
    "38000000 02000003 09000000 00000000 feffffff 20000000 00000000 09000000 00000000 0c000100 6e6f2077 61790000 08000200 18000000";
  const repeated =
    "40000000 02000002 09000000 00000000 feffffff 18000000 00000000 09000000 00000000 01020304 05060708 0c000100 6e6f2077 61790000 08000200 18000000";
  for (const bytes of [capped, repeated]) {
    const reader = new MessageReader(unhex(bytes));
    assert.ok(reader.next());
    assert.deepEqual(decodeKernelAnswer(reader), { seq: 9, errno: 2, extAck: "no way", offset: 24 });
  }
});

test("decodeKernelAnswer() reads an acknowledgement", () => {
  const reader = new MessageReader(
    unhex("24000000 02000001 09000000 00000000 00000000 20000000 00000000 09000000 00000000"),
  );
  assert.ok(reader.next());
  assert.deepEqual(decodeKernelAnswer(reader), { seq: 9, errno: 0 });
});

test("writer and reader agree on any attributes", () => {
  const attribute = fc.record(
    { type: fc.integer({ min: 0, max: 0x3fff }), payload: fc.uint8Array({ maxLength: 40 }) },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.array(attribute), (attributes) => {
      const writer = new MessageWriter(8);
      writer.message(1, 0, 1);
      for (const { type, payload } of attributes) writer.attrBytes(type, payload);
      writer.endMessage();
      const reader = new MessageReader(writer.bytes);
      assert.ok(reader.next());
      const read: typeof attributes = [];
      const walk = reader.attributes(0);
      while (walk.next()) read.push({ type: walk.type, payload: walk.bytes().slice() });
      assert.deepEqual(read, attributes);
    }),
  );
});

function attribute(write: (writer: MessageWriter) => void): AttributeReader {
  const writer = new MessageWriter();
  writer.message(1, 0, 1);
  write(writer);
  writer.endMessage();
  const message = new MessageReader(writer.bytes);
  assert.ok(message.next());
  const attributes = message.attributes(0);
  assert.ok(attributes.next());
  return attributes;
}

test("AttributeReader: string() gives each text, seen before or not", () => {
  const text = fc.string({ unit: "binary", maxLength: 200 }).map((raw) => raw.replaceAll("\0", "-").toWellFormed());
  fc.assert(
    fc.property(fc.array(text, { maxLength: 20 }), (texts) => {
      for (const one of [...texts, ...texts])
        assert.equal(attribute((writer) => writer.attrString(1, one)).string(), one);
    }),
  );
});

test("AttributeReader: equals() tells payloads apart, and hash() is the same for equal ones", () => {
  const bytes = fc.uint8Array({ maxLength: 12, max: 3 });
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      const [first, second] = [a, b].map((payload) => attribute((writer) => writer.attrBytes(1, payload)));
      assert.equal(first?.equals(b), Buffer.compare(a, b) === 0);
      if (first?.equals(b) === true) assert.equal(first.hash(), second?.hash());
      assert.ok(Number(first?.hash()) >= 0 && Number(first?.hash()) <= 0xffffffff);
    }),
  );
});

test("MessageWriter: reserve() changes nothing of what is written", () => {
  const written = [0, 1, 100_000].map((bytes) => {
    const writer = new MessageWriter(16);
    writer.message(1, 0, 1);
    writer.attrString(1, "before");
    writer.reserve(bytes);
    writer.attrString(1, "behind");
    writer.endMessage();
    return Buffer.from(writer.bytes).toString("hex");
  });
  assert.equal(new Set(written).size, 1);
});
