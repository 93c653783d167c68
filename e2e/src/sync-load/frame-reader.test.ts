import assert from "node:assert/strict";
import { test } from "node:test";
import { websocketHeader } from "@bulrush/proto";
import fc from "fast-check";
import { FrameReader, maskedFrame } from "./frame-reader.ts";

function serverFrame(payload: Uint8Array): Buffer {
  return Buffer.concat([websocketHeader(payload.length), payload]);
}

test("frames come out whole however the bytes are cut", () => {
  const lengths = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 65_000, max: 66_000 }));
  fc.assert(
    fc.property(fc.array(lengths, { maxLength: 6 }), fc.array(fc.integer({ min: 1, max: 70_000 })), (sizes, cuts) => {
      const payloads = sizes.map((size, i) => Buffer.alloc(size, i));
      let bytes = Buffer.concat(payloads.map(serverFrame));
      const reader = new FrameReader();
      const found: Buffer[] = [];
      const push = (chunk: Buffer): void =>
        reader.push(chunk, (opcode, payload) => {
          assert.equal(opcode, 2);
          found.push(Buffer.from(payload));
        });
      for (const cut of cuts) {
        push(bytes.subarray(0, cut));
        bytes = bytes.subarray(cut);
      }
      push(bytes);
      assert.deepEqual(found, payloads);
    }),
    { numRuns: 50 },
  );
});

test("one byte at a time is enough", () => {
  const reader = new FrameReader();
  const found: string[] = [];
  const bytes = Buffer.concat([serverFrame(Buffer.from("one")), serverFrame(Buffer.alloc(300, "x"))]);
  for (const byte of bytes) reader.push(Buffer.from([byte]), (_, payload) => found.push(payload.toString()));
  assert.deepEqual(found, ["one", "x".repeat(300)]);
});

test("a frame that says it is enormous is refused before it is there", () => {
  const header = Buffer.from([0x82, 127, 0, 0, 0, 16, 0, 0, 0, 0]);
  assert.throws(() => new FrameReader().push(header, () => {}), /A frame of 68719476736 bytes/);
});

test("a client's frame is masked, with its length as RFC 6455 section 5.2 has it", () => {
  assert.deepEqual([...maskedFrame(Buffer.from("ab"))], [0x82, 0x82, 0, 0, 0, 0, 0x61, 0x62]);
  assert.deepEqual([...maskedFrame(Buffer.alloc(0), 9)], [0x89, 0x80, 0, 0, 0, 0]);
  assert.deepEqual([...maskedFrame(Buffer.alloc(300)).subarray(0, 8)], [0x82, 0xfe, 1, 44, 0, 0, 0, 0]);
});
