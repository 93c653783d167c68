import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageReader } from "@bulrush/netlink";
import { fuzzReader } from "@bulrush/netlink/testing";
import { ChangeReader } from "./change-reader.ts";

/** One notice: its message type, family, and attributes as hexadecimal words. */
function notice(type: number, family: number, attributes: string): Buffer {
  const payload = Buffer.from(attributes.replaceAll(" ", ""), "hex");
  const bytes = Buffer.alloc(20 + payload.length);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(type, 4);
  bytes[16] = family;
  payload.copy(bytes, 20);
  return bytes;
}

/** NFTA_*_TABLE "calico", and "t". */
const CALICO = "0b000100 63616c69 636f0000";
const T = "06000100 74000000";
/** NFTA_GEN_ID 7, PROC_PID 1234, PROC_NAME "nft". */
const GENERATION = "08000100 00000007 08000200 000004d2 08000300 6e667400";

function read(reader: ChangeReader, ...notices: readonly Buffer[]): [string[], string][] {
  return reader
    .read(new MessageReader(Buffer.concat(notices)))
    .map(({ by, tables }) => [[...tables].sort(), by] as [string[], string]);
}

test("a change is what was told since the last generation, with whose it is", () => {
  const reader = new ChangeReader();
  assert.deepEqual(read(reader, notice(0x0a06, 2, CALICO), notice(0x0a0c, 10, CALICO), notice(0x0a06, 1, T)), []);
  assert.deepEqual(read(reader, notice(0x0a0f, 0, GENERATION)), [
    [["inet t", "ip calico", "ip6 calico"], "nft (1234)"],
  ]);
  assert.deepEqual(read(reader, notice(0x0a02, 2, T), notice(0x0a0f, 0, "08000100 00000008")), [[["ip t"], ""]]);
});

test("messages of other subsystems, and tables of families that we do not know, are passed by", () => {
  const reader = new ChangeReader();
  assert.deepEqual(read(reader, notice(0x0106, 2, CALICO), notice(0x0a00, 7, T), notice(0x0a0f, 0, GENERATION)), [
    [[], "nft (1234)"],
  ]);
});

test("reset() forgets a transaction of which a part is lost", () => {
  const reader = new ChangeReader();
  read(reader, notice(0x0a06, 2, CALICO));
  reader.reset();
  assert.deepEqual(read(reader, notice(0x0a0f, 0, GENERATION)), [[[], "nft (1234)"]]);
});

test("read() takes any bytes", () => {
  const reader = new ChangeReader();
  fuzzReader([0x0a00, 0x0a06, 0x0a0c, 0x0a0f], (message) => {
    reader.read(
      new MessageReader(new Uint8Array(message.view.buffer, message.view.byteOffset, message.view.byteLength)),
    );
  });
});
