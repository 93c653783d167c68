import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "@bulrush/base";
import { decodeFamilyId, writeFamilyRequest } from "../generic/generic-codec.ts";
import { MessageReader } from "../message/message-reader.ts";
import { MessageWriter } from "../message/message-writer.ts";
import { fuzzReader } from "../testing/fuzz.ts";
import { hexLines, unhex } from "../testing/hex.ts";
import { inMessages } from "./open-wireguard.ts";
import type { WireguardChange, WireguardDevice } from "./wireguard.ts";
import { decodeDevice, joinDevices, writeDeviceChange, writeDeviceRequest } from "./wireguard-codec.ts";

const KEY_1 = Buffer.alloc(32, 1).toString("base64");
const KEY_2 = Buffer.alloc(32, 2).toString("base64");
const ONES = "01010101".repeat(8);
const TWOS = "02020202".repeat(8);

/** What stands behind the message's head: `struct genlmsghdr`, then attributes (linux/wireguard.h, linux/genetlink.h). */
function bodyOf(write: (writer: MessageWriter) => void): string {
  const writer = new MessageWriter();
  writer.message(0x20, 1, 3);
  write(writer);
  writer.endMessage();
  return hexLines(writer.bytes.subarray(16));
}

function readerOf(body: string): MessageReader {
  const rest = unhex(body);
  const bytes = new Uint8Array(16 + rest.length);
  new DataView(bytes.buffer).setUint32(0, bytes.length, true);
  bytes.set(rest, 16);
  const reader = new MessageReader(bytes);
  assert.ok(reader.next());
  return reader;
}

test("writeFamilyRequest() asks the controller for a family by name, and decodeFamilyId() reads its answer", () => {
  const asked = bodyOf((writer) => writeFamilyRequest(writer, "wireguard"));
  assert.equal(asked, hexLines(unhex("03010000 0e000200 77697265 67756172 64000000")));
  assert.equal(decodeFamilyId(readerOf("01020000 0e000200 77697265 67756172 64000000 06000100 22000000")), 0x22);
  assert.equal(decodeFamilyId(readerOf("01020000")), undefined);
});

test("writeDeviceRequest() names the device", () => {
  const asked = bodyOf((writer) => writeDeviceRequest(writer, "wg0"));
  assert.equal(asked, hexLines(unhex("00010000 08000200 77673000")));
});

const CHANGES: readonly { readonly name: string; readonly change: WireguardChange; readonly body: string }[] = [
  {
    name: "key, port and mark of a device that loses its peers",
    change: { name: "wg0", privateKey: KEY_1, port: 51820, mark: 0x200000, replacePeers: true },
    body: `01010000 08000200 77673000 08000500 01000000 24000300 ${ONES} 06000600 6cca0000 08000700 00002000`,
  },
  {
    name: "a peer with an endpoint of IPv4 and networks of both families",
    change: {
      name: "wg0",
      peers: [{ publicKey: KEY_2, endpoint: "192.0.2.1:51820", allowedIps: ["10.0.0.0/26", "fd00::1/128"] }],
    },
    body: `01010000 08000200 77673000 90000880 8c000080 24000100 ${TWOS} 08000300 02000000
      14000400 0200ca6c c0000201 00000000 00000000
      48000980 1c000080 06000100 02000000 08000200 0a000000 05000300 1a000000
      28000080 06000100 0a000000 14000200 fd000000 00000000 00000000 00000001 05000300 80000000`,
  },
  {
    name: "a peer with an endpoint of IPv6 and no networks left",
    change: {
      name: "wg0",
      peers: [{ publicKey: KEY_2, endpoint: "[fd00::9]:51821", keepaliveSeconds: 25, allowedIps: [] }],
    },
    body: `01010000 08000200 77673000 5c000880 58000080 24000100 ${TWOS} 08000300 02000000
      20000400 0a00ca6d 00000000 fd000000 00000000 00000000 00000009 00000000 06000500 19000000`,
  },
  {
    name: "a peer that goes",
    change: { name: "wg0", peers: [{ publicKey: KEY_2, remove: true }] },
    body: `01010000 08000200 77673000 34000880 30000080 24000100 ${TWOS} 08000300 01000000`,
  },
];

for (const { body, change, name } of CHANGES)
  test(`writeDeviceChange() writes ${name}`, () => {
    assert.equal(
      bodyOf((writer) => writeDeviceChange(writer, change)),
      hexLines(unhex(body)),
    );
  });

test("writeDeviceChange() refuses what cannot be, and does not say a key in its error", () => {
  const bad: readonly WireguardChange[] = [
    { name: "wg0", privateKey: "secret" },
    { name: "wg0", privateKey: KEY_1.slice(0, -1) },
    { name: "wg0", peers: [{ publicKey: KEY_2, endpoint: "192.0.2.1" }] },
    { name: "wg0", peers: [{ publicKey: KEY_2, endpoint: "192.0.2.1:0" }] },
    { name: "wg0", peers: [{ publicKey: KEY_2, endpoint: "fd00::1:51820" }] },
    {
      name: "wg0",
      peers: [
        { publicKey: KEY_2, allowedIps: ["10.0.0.0"] },
        { publicKey: KEY_2, allowedIps: ["x/1"] },
      ],
    },
  ];
  for (const change of bad)
    assert.throws(
      () => bodyOf((writer) => writeDeviceChange(writer, change)),
      (error) => hasCode(error, "NETLINK_ARGUMENT") && !String(error).includes("secret"),
      JSON.stringify(change),
    );
});

test("decodeDevice() and joinDevices() read a device whose peer comes in two messages", () => {
  const first = decodeDevice(
    readerOf(`00010000 08000100 07000000 08000200 77673000 24000300 ${ONES} 24000400 ${TWOS} 06000600 6cca0000
      08000700 00002000 94000880 90000080 24000100 ${TWOS} 14000600 15cd5b07 00000000 00000000 00000000
      0c000700 05000000 00000000 0c000800 06000000 00000000
      14000400 0200ca6c c0000201 00000000 00000000 06000500 19000000
      20000980 1c000080 06000100 02000000 08000200 0a000000 05000300 1a000000`),
  );
  const second = decodeDevice(
    readerOf(`00010000 08000200 77673000 4c000880 48000080 24000100 ${TWOS}
      20000980 1c000080 06000100 02000000 08000200 0a000040 05000300 1a000000`),
  );
  const wanted: WireguardDevice = {
    index: 7,
    name: "wg0",
    privateKey: KEY_1,
    publicKey: KEY_2,
    port: 51820,
    mark: 0x200000,
    peers: [
      {
        publicKey: KEY_2,
        endpoint: "192.0.2.1:51820",
        allowedIps: ["10.0.0.0/26", "10.0.0.64/26"],
        keepaliveSeconds: 25,
        lastHandshakeSeconds: 123_456_789,
        receivedBytes: 5n,
        sentBytes: 6n,
      },
    ],
  };
  assert.deepEqual(joinDevices([first, second]), wanted);
  assert.equal(joinDevices([]), undefined);
});

test("inMessages() cuts a change of many peers, and says what is of the device once", () => {
  const allowedIps = Array.from({ length: 400 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`);
  const peers = Array.from({ length: 5 }, (_, i) => ({
    publicKey: Buffer.alloc(32, i + 1).toString("base64"),
    allowedIps,
  }));
  const change: WireguardChange = { name: "wg0", port: 1, replacePeers: true, peers };
  const parts = [...inMessages(change)];
  assert.deepEqual(
    parts.map(({ peers: some }) => some?.length),
    [2, 2, 1],
  );
  assert.deepEqual(
    parts.flatMap(({ peers: some }) => some ?? []),
    peers,
  );
  assert.deepEqual(
    parts.map(({ port, replacePeers }) => [port, replacePeers]),
    [
      [1, true],
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
  for (const part of parts) bodyOf((writer) => writeDeviceChange(writer, part));
  assert.deepEqual([...inMessages({ name: "wg0", port: 1 })], [{ name: "wg0", port: 1 }]);
});

test("decodeDevice() throws nothing but NetlinkError on random bytes, and ends", () => {
  fuzzReader([0x20], (message) => decodeDevice(message));
  fuzzReader([0x10], (message) => decodeFamilyId(message));
});
