import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32c } from "./crc32c.ts";
import { decodeSctpPacket, encodeSctpPacket, type SctpPacket } from "./sctp-packet.ts";

test("crc32c() gives the check value of the catalogue", () => {
  assert.equal(crc32c(Buffer.from("123456789")), 0xe3069283);
});

const INIT: SctpPacket = { sourcePort: 40000, destinationPort: 80, verificationTag: 0, chunk: "init", initiateTag: 7 };

test("decodeSctpPacket() reads what encodeSctpPacket() wrote", () => {
  assert.deepEqual(decodeSctpPacket(encodeSctpPacket(INIT)), INIT);
  const ack: SctpPacket = {
    sourcePort: 80,
    destinationPort: 40000,
    verificationTag: 7,
    chunk: "init-ack",
    initiateTag: 9,
  };
  assert.deepEqual(decodeSctpPacket(encodeSctpPacket(ack)), ack);
});

test("decodeSctpPacket() refuses a packet with a flipped bit", () => {
  const bytes = encodeSctpPacket(INIT);
  bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20);
  assert.equal(decodeSctpPacket(bytes), undefined);
});
