import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { MessageReader } from "../message/message-reader.ts";
import { MessageWriter } from "../message/message-writer.ts";
import { fuzzReader } from "../testing/fuzz.ts";
import { hexLines, unhex } from "../testing/hex.ts";
import { decodeLogPacket, writeBindGroup } from "./log-codec.ts";
import type { LogPacket } from "./log-packet.ts";
import { readHeaders } from "./packet-headers.ts";

/** Words of linux/netfilter/nfnetlink_log.h: a config message of group 2 that copies 128 bytes. */
const BIND = `38000000 01040500 07000000 00000000
  00000002
  05000100 01000000
  0a000200 00000080 02000000
  08000400 00000005
  08000500 00000010`;

/** An IPv4 header (RFC 791) of 20 bytes, from 10.65.0.2 to 10.65.0.3. */
const ip4 = (protocol: string, fragment = "4000"): string =>
  `45000034 0001${fragment} 40${protocol}0000 0a410002 0a410003`;
/** An IPv6 header (RFC 8200) from fd00::2 to fd00::3. */
const ip6 = (next: string): string =>
  `60000000 0014${next}40 fd000000 00000000 00000000 00000002 fd000000 00000000 00000000 00000003`;
const V4 = { source: "10.65.0.2", destination: "10.65.0.3" } as const;
const V6 = { source: "fd00::2", destination: "fd00::3" } as const;
const PORTS = { sourcePort: 40000, destinationPort: 80 } as const;
const PORT_BYTES = "9c400050";

type Headers = ReturnType<typeof readHeaders>;
const HEADERS: readonly (readonly [string, string, Headers])[] = [
  ["TCP over IPv4", `${ip4("06")} ${PORT_BYTES}`, { ...V4, protocol: 6, ...PORTS }],
  ["UDP over IPv6", `${ip6("11")} ${PORT_BYTES}`, { ...V6, protocol: 17, ...PORTS }],
  ["SCTP over IPv4", `${ip4("84")} ${PORT_BYTES}`, { ...V4, protocol: 132, ...PORTS }],
  ["ICMP echo", `${ip4("01")} 08000000`, { ...V4, protocol: 1, icmp: { type: 8, code: 0 } }],
  ["ICMPv6 port unreachable", `${ip6("3a")} 01040000`, { ...V6, protocol: 58, icmp: { type: 1, code: 4 } }],
  ["a protocol without ports", `${ip4("fd")} ${PORT_BYTES}`, { ...V4, protocol: 253 }],
  ["IPv4 options are passed by", `46${ip4("06").slice(2)} 01010101 ${PORT_BYTES}`, { ...V4, protocol: 6, ...PORTS }],
  ["a later fragment has no ports", `${ip4("06", "2005")} ${PORT_BYTES}`, { ...V4, protocol: 6 }],
  [
    "IPv6 extension headers are passed by",
    `${ip6("00")} 3c000000 00000000 06000000 00000000 ${PORT_BYTES}`,
    { ...V6, protocol: 6, ...PORTS },
  ],
  ["the first fragment over IPv6", `${ip6("2c")} 06000001 00000000 ${PORT_BYTES}`, { ...V6, protocol: 6, ...PORTS }],
  ["a later fragment over IPv6", `${ip6("2c")} 06000008 00000000 ${PORT_BYTES}`, { ...V6, protocol: 6 }],
  ["a header that is cut before the ports", ip4("06"), { ...V4, protocol: 6 }],
  ["half an IPv4 header", ip4("06").slice(0, 20), undefined],
  ["half an IPv6 header", ip6("06").slice(0, 40), undefined],
  ["no IP at all", "00010800 06040001", undefined],
  ["nothing", "", undefined],
];

describe("readHeaders() reads", () => {
  for (const [name, bytes, wanted] of HEADERS)
    it(name, () => {
      assert.deepEqual(readHeaders(unhex(bytes)), wanted);
    });
});

test("writeBindGroup() takes a group with what comes along in one message", () => {
  const writer = new MessageWriter(64);
  writeBindGroup(writer, 7, 2, 128);
  assert.equal(hexLines(writer.bytes), hexLines(unhex(BIND)));
});

function read(hex: string): LogPacket | undefined {
  const reader = new MessageReader(unhex(hex));
  assert.ok(reader.next());
  return decodeLogPacket(reader);
}

const PACKET_ATTRIBUTES = `08000100 08000200
  0c000a00 44495230 7c706100
  08000400 00000005
  08000500 00000006
  08000200 00010000
  1c000900 ${ip4("06")} ${PORT_BYTES}`;

test("decodeLogPacket() reads group, prefix, devices, mark, hook and headers", () => {
  assert.deepEqual(read(`5c000000 00040000 00000000 00000000 02000001 ${PACKET_ATTRIBUTES}`), {
    group: 1,
    prefix: "DIR0|pa",
    hook: 2,
    mark: 0x10000,
    inDevice: 5,
    outDevice: 6,
    ...V4,
    protocol: 6,
    ...PORTS,
  });
});

test("decodeLogPacket() passes other messages by, and packets without addresses", () => {
  assert.equal(read(`5c000000 01040000 00000000 00000000 02000001 ${PACKET_ATTRIBUTES}`), undefined);
  assert.equal(read("1c000000 00040000 00000000 00000000 02000001 08000100 08000200"), undefined);
});

test("decodeLogPacket() takes any bytes", () => {
  fuzzReader([0x400], (message) => decodeLogPacket(message));
});
