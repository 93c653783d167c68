import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "@bulrush/base";
import { decodeFlow } from "../conntrack/flow-codec.ts";
import { decodeKernelAnswer } from "../message/kernel-answer.ts";
import { MessageReader } from "../message/message-reader.ts";
import { MessageWriter } from "../message/message-writer.ts";
import { fuzzReader } from "../testing/fuzz.ts";
import { hexLines, unhex } from "../testing/hex.ts";
import { decodeRouteEvent } from "./event-codec.ts";
import type { RouteOperation } from "./operation.ts";
import { writeOperation } from "./operation-codec.ts";
import type { RouteEvent } from "./route-monitor.ts";

interface OperationCase {
  readonly name: string;
  readonly operation: RouteOperation;
  /** Type and flags, then the body, a word of four bytes each (linux/rtnetlink.h). */
  readonly head: string;
  readonly body: string;
}

const OPERATIONS: readonly OperationCase[] = [
  {
    name: "a host route by device: scope link, protocol boot",
    operation: { kind: "replace-route", route: { destination: "10.0.0.1/32", device: 7 } },
    head: "18000105",
    body: "02200000 fe03fd01 00000000 08000100 0a000001 08000400 07000000",
  },
  {
    name: "a route by an on-link gateway with source, metric and MTU",
    operation: {
      kind: "add-route",
      route: {
        destination: "10.0.0.0/26",
        via: "192.0.2.9",
        device: 7,
        onlink: true,
        source: "10.0.0.9",
        metric: 512,
        mtu: 1450,
        protocol: 80,
      },
    },
    head: "18000106",
    body: "021a0000 fe500001 04000000 08000100 0a000000 08000400 07000000 08000500 c0000209 08000700 0a000009 08000600 00020000 0c000880 08000200 aa050000",
  },
  {
    name: "an IPv6 host route: scope universe",
    operation: { kind: "add-route", route: { destination: "fd00::1/128", device: 7, protocol: 80 } },
    head: "18000106",
    body: "0a800000 fe500001 00000000 14000100 fd000000 00000000 00000000 00000001 08000400 07000000",
  },
  {
    name: "a VXLAN device, up, without learning",
    operation: {
      kind: "add-vxlan",
      vxlan: {
        name: "vx",
        mac: "66:00:00:00:00:01",
        mtu: 1450,
        up: true,
        vni: 4096,
        port: 4789,
        local: "192.0.2.1",
        parent: 2,
      },
    },
    head: "10000106",
    body: "00000000 00000000 01000000 01000000 07000300 76780000 0a000100 66000000 00010000 08000400 aa050000 3c001280 0a000100 76786c61 6e000000 2c000280 08000100 00100000 08000300 02000000 08000400 c0000201 05000700 00000000 06000f00 12b50000",
  },
  {
    name: "a blackhole in a table over 255",
    operation: {
      kind: "add-route",
      route: { destination: "10.65.0.0/26", type: "blackhole", protocol: 80, table: 1000 },
    },
    head: "18000106",
    body: "021a0000 00500006 00000000 08000100 0a410000 08000f00 e8030000",
  },
  {
    name: "a route by an IPv6 gateway of an IPv4 network",
    operation: { kind: "add-route", route: { destination: "10.0.0.0/8", via: "fe80::1", device: 7, protocol: 80 } },
    head: "18000106",
    body: "02080000 fe500001 00000000 08000100 0a000000 08000400 07000000 16001200 0a00fe80 00000000 00000000 00000000 00010000",
  },
  {
    name: "two hops with weights",
    operation: {
      kind: "add-route",
      route: {
        destination: "10.0.0.0/8",
        protocol: 80,
        hops: [
          { via: "192.0.2.1", device: 7 },
          { device: 8, weight: 3, onlink: true },
        ],
      },
    },
    head: "18000106",
    body: "02080000 fe500001 00000000 08000100 0a000000 1c000980 10000000 07000000 08000500 c0000201 08000402 08000000",
  },
  {
    name: "a delete: any protocol, type and scope",
    operation: { kind: "delete-route", route: { destination: "10.0.0.1/32", metric: 5 } },
    head: "19000100",
    body: "02200000 fe00ff00 00000000 08000100 0a000001 08000600 05000000",
  },
  {
    name: "a permanent neighbour",
    operation: { kind: "replace-neighbour", neighbour: { device: 7, address: "10.0.0.1", mac: "66:01:02:03:04:05" } },
    head: "1c000105",
    body: "02000000 07000000 80000000 08000100 0a000001 0a000200 66010203 04050000",
  },
  {
    name: "a forwarding entry",
    operation: {
      kind: "add-neighbour",
      neighbour: { device: 7, address: "192.0.2.9", mac: "66:01:02:03:04:05", forwarding: true },
    },
    head: "1c000106",
    body: "07000000 07000000 80000200 08000100 c0000209 0a000200 66010203 04050000",
  },
  {
    name: "an address with a peer",
    operation: { kind: "add-address", address: { device: 7, address: "10.0.0.1/32", peer: "10.0.0.2", scope: "link" } },
    head: "14000106",
    body: "022000fd 07000000 08000200 0a000001 08000100 0a000002",
  },
  {
    name: "an IPv6 address without duplicate detection",
    operation: { kind: "replace-address", address: { device: 7, address: "fd00::1/64", noDad: true } },
    head: "14000105",
    body: "0a400000 07000000 14000200 fd000000 00000000 00000000 00000001 14000100 fd000000 00000000 00000000 00000001 08000800 02000000",
  },
  {
    name: "an IPv6 address without duplicate detection, and without a route to its network",
    operation: {
      kind: "replace-address",
      address: { device: 7, address: "fd00::1/128", noDad: true, noPrefixRoute: true },
    },
    head: "14000105",
    body: "0a800000 07000000 14000200 fd000000 00000000 00000000 00000001 14000100 fd000000 00000000 00000000 00000001 08000800 02020000",
  },
  {
    name: "an IPv4 address without a route to its network",
    operation: { kind: "replace-address", address: { device: 7, address: "10.0.0.1/32", noPrefixRoute: true } },
    head: "14000105",
    body: "02200000 07000000 08000200 0a000001 08000100 0a000001 08000800 00020000",
  },
  {
    name: "an address that says who wrote it",
    operation: { kind: "replace-address", address: { device: 7, address: "10.0.0.1/32", protocol: 80 } },
    head: "14000105",
    body: "02200000 07000000 08000200 0a000001 08000100 0a000001 05000b00 50000000",
  },
  {
    name: "a veth pair whose peer goes elsewhere",
    operation: { kind: "add-veth", veth: { name: "v0", mtu: 1450, up: true, peer: { name: "v1", namespaceFd: 9 } } },
    head: "10000106",
    body: "00000000 00000000 01000000 01000000 07000300 76300000 08000400 aa050000 38001280 09000100 76657468 00000000 28000280 24000180 00000000 00000000 00000000 00000000 07000300 76310000 08001c00 09000000",
  },
  {
    name: "a link up, with another MTU",
    operation: { kind: "change-link", link: 7, change: { up: true, mtu: 1400 } },
    head: "10000100",
    body: "00000000 07000000 01000000 01000000 08000400 78050000",
  },
  {
    name: "the end of a link",
    operation: { kind: "delete-link", link: "v0" },
    head: "11000100",
    body: "00000000 00000000 00000000 00000000 07000300 76300000",
  },
];

for (const { name, operation, head, body } of OPERATIONS)
  test(`writeOperation() writes ${name}`, () => {
    const writer = new MessageWriter();
    writeOperation(writer, 3, operation);
    const bytes = writer.bytes;
    assert.equal(hexLines(bytes.subarray(4, 8)), head);
    // The last attribute's padding is in the buffer, not in the length.
    assert.equal(hexLines(bytes.subarray(16)), hexLines(unhex(body)));
  });

const BAD: readonly RouteOperation[] = [
  { kind: "add-route", route: { destination: "10.0.0.0/33" } },
  { kind: "add-route", route: { destination: "10.0.0.0/8", via: "10.0.0" } },
  { kind: "add-route", route: { destination: "fd00::/8", via: "10.0.0.1" } },
  { kind: "add-route", route: { destination: "10.0.0.0/8", hops: [{ via: "10.0.0.1", weight: 0 }] } },
  { kind: "add-address", address: { device: 0, address: "10.0.0.1/32" } },
  { kind: "add-neighbour", neighbour: { device: 1, address: "10.0.0.1", mac: "66:01" } },
  { kind: "add-neighbour", neighbour: { device: 1, mac: "66:01:02:03:04:05" } },
  { kind: "add-neighbour", neighbour: { device: 1, address: "10.0.0.1", forwarding: true } },
  { kind: "delete-link", link: "" },
  { kind: "delete-link", link: "sixteen-bytes-xx" },
  { kind: "change-link", link: "v0", change: { name: "v1" } },
];

test("writeOperation() refuses what it cannot encode", () => {
  for (const operation of BAD)
    assert.throws(
      () => writeOperation(new MessageWriter(), 1, operation),
      (error) => hasCode(error, "NETLINK_ARGUMENT"),
      JSON.stringify(operation),
    );
});

/** Bodies as the kernel sends them, with what they say. */
const EVENTS: readonly { readonly type: string; readonly body: string; readonly event: RouteEvent }[] = [
  {
    type: "1800",
    body: "02200000 fe50fd01 00000000 08000f00 fe000000 08000100 0a000001 08000600 00040000 08000400 07000000",
    event: {
      kind: "route",
      route: {
        destination: "10.0.0.1/32",
        type: "unicast",
        scope: "link",
        protocol: 80,
        table: 254,
        metric: 1024,
        flags: 0,
        device: 7,
      },
    },
  },
  {
    type: "1900",
    body: "02000000 fe030001 00000000 08000500 c0000201",
    event: {
      kind: "route-gone",
      route: {
        destination: "0.0.0.0/0",
        type: "unicast",
        scope: "universe",
        protocol: 3,
        table: 254,
        metric: 0,
        flags: 0,
        via: "192.0.2.1",
      },
    },
  },
  {
    type: "1c00",
    body: "02000000 07000000 80000001 08000100 0a000001 0a000200 66010203 04050000",
    event: { kind: "neighbour", neighbour: { device: 7, state: 128, address: "10.0.0.1", mac: "66:01:02:03:04:05" } },
  },
  {
    type: "1400",
    body: "022080fe 01000000 08000100 7f000001 08000200 7f000001 08000800 80000000",
    event: { kind: "address", address: { device: 1, address: "127.0.0.1/32", scope: "host", flags: 0x80 } },
  },
  {
    type: "1400",
    body: "022080fd 07000000 08000100 0a000001 08000200 0a000001 08000800 80020000 05000b00 50000000",
    event: {
      kind: "address",
      address: { device: 7, address: "10.0.0.1/32", scope: "link", flags: 0x280, protocol: 80 },
    },
  },
  {
    type: "1000",
    body: "00000100 07000000 43100100 ffffffff 07000300 76300000 08000400 dc050000 0a000100 66010203 04050000 08000500 08000000 10001200 09000100 76657468 00000000",
    event: {
      kind: "link",
      link: {
        index: 7,
        name: "v0",
        up: true,
        running: true,
        flags: 0x11043,
        mtu: 1500,
        mac: "66:01:02:03:04:05",
        parent: 8,
        kind: "veth",
      },
    },
  },
];

for (const { type, body, event } of EVENTS)
  test(`decodeRouteEvent() reads a ${event.kind}`, () => {
    const rest = unhex(body);
    const bytes = unhex(`00000000 ${type}0000 00000000 00000000 ${body}`);
    new DataView(bytes.buffer).setUint32(0, 16 + rest.length, true);
    const reader = new MessageReader(bytes);
    assert.ok(reader.next());
    assert.deepEqual(decodeRouteEvent(reader), event);
  });

test("decoders of random bytes throw nothing but NetlinkError, and end", () => {
  fuzzReader([16, 17, 20, 21, 24, 25, 28, 29], (message) => decodeRouteEvent(message));
  fuzzReader([0x100], (message) => decodeFlow(message));
  fuzzReader([2], (message) => decodeKernelAnswer(message));
});
