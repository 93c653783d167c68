import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeEcho, internetChecksum, isEchoReply } from "./icmp-packet.ts";

test("internetChecksum() gives the sum of RFC 1071's example", () => {
  assert.equal(internetChecksum(Buffer.from("0001f203f4f5f6f7", "hex")), ~0xddf2 & 0xffff);
});

test("encodeEcho() makes a request whose own sum is right", () => {
  const bytes = encodeEcho(4, 0x01020304, Buffer.from("abc"));
  assert.equal(bytes.toString("hex", 0, 2), "0800");
  assert.equal(bytes.toString("hex", 4), "03040102616263");
  assert.equal(internetChecksum(bytes), 0);
});

test("isEchoReply() knows the answer to its own request only", () => {
  const payload = Buffer.from("abc");
  const reply = Buffer.from("0000000003040102616263", "hex");
  assert.equal(isEchoReply(4, reply, 0x01020304, payload), true);
  assert.equal(isEchoReply(4, reply, 0x01020305, payload), false);
  assert.equal(isEchoReply(6, reply, 0x01020304, payload), false);
  assert.equal(isEchoReply(4, encodeEcho(4, 0x01020304, payload), 0x01020304, payload), false);
  assert.equal(isEchoReply(6, Buffer.from("8100000003040102616263", "hex"), 0x01020304, payload), true);
});
