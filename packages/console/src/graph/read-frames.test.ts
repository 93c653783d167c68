import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeMessage, type ServerMessage } from "@bulrush/proto";
import { FrameCutter } from "./read-frames.ts";

const MESSAGES: readonly ServerMessage[] = [
  { type: "snapshot", kvs: [{ path: "/calico/v1/ready", value: true, revision: "1", updateType: "new" }] },
  { type: "snapshot-end", sequence: 3, count: 1 },
  { type: "status", sequence: 3, status: "in-sync" },
];

function body(messages: readonly ServerMessage[]): Uint8Array {
  return Buffer.concat(
    messages.map((message) => {
      const frame = encodeMessage(message);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(frame.length);
      return Buffer.concat([length, frame]);
    }),
  );
}

test("FrameCutter finds the messages however the body is cut", () => {
  const bytes = body(MESSAGES);
  for (let size = 1; size <= bytes.length; size++) {
    const cutter = new FrameCutter();
    const found: ServerMessage[] = [];
    for (let at = 0; at < bytes.length; at += size) found.push(...cutter.push(bytes.subarray(at, at + size)));
    cutter.end();
    assert.deepEqual(found, MESSAGES, `parts of ${size} bytes`);
  }
});

test("FrameCutter refuses what is cut off, and lengths that cannot be", () => {
  const cutter = new FrameCutter();
  cutter.push(body(MESSAGES).subarray(0, -1));
  assert.throws(() => cutter.end(), /middle of a frame/);
  assert.throws(() => new FrameCutter().push(new Uint8Array([0xff, 0, 0, 0])), /is not one of a snapshot/);
});
