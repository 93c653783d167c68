import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "@bulrush/base";
import { MessageReader } from "../message/message-reader.ts";
import { MessageWriter } from "../message/message-writer.ts";
import type { RouteOperation } from "../route/operation.ts";
import { writeOperation } from "../route/operation-codec.ts";
import { fuzzReader } from "../testing/fuzz.ts";
import { hexLines, unhex } from "../testing/hex.ts";
import { decodeFilter } from "./filter-codec.ts";
import type { Filter, Qdisc } from "./qdisc.ts";
import { decodeQdisc } from "./qdisc-codec.ts";

/** Type and flags, then the body, a word of four bytes each (linux/rtnetlink.h, pkt_sched.h, pkt_cls.h). */
const OPERATIONS: readonly {
  readonly name: string;
  readonly operation: RouteOperation;
  readonly head: string;
  readonly body: string;
}[] = [
  {
    name: "a token bucket of 10 Mbit/s, 100 KiB, without a peak",
    operation: {
      kind: "replace-qdisc",
      qdisc: { kind: "tbf", device: 3, bucket: { rate: 1_250_000, burst: 102_400, limit: 133_650 } },
    },
    head: "24000105",
    // As tc writes it, without the table of times that a named link layer (01) makes needless.
    body: `00000000 03000000 00000000 ffffffff 00000000 08000100 74626600
      34000280 28000100 00010000 00000000 d0121300 00000000 00000000 00000000 120a0200 00881300 00000000
      08000600 00900100`,
  },
  {
    name: "a token bucket with a peak",
    operation: {
      kind: "replace-qdisc",
      qdisc: {
        kind: "tbf",
        device: 3,
        bucket: { rate: 1_250_000, burst: 102_400, limit: 131_072, peakRate: 12_500_000, peakBurst: 1500 },
      },
    },
    head: "24000105",
    body: `00000000 03000000 00000000 ffffffff 00000000 08000100 74626600
      3c000280 28000100 00010000 00000000 d0121300 00010000 00000000 20bcbe00 00000200 00881300 53070000
      08000600 00900100 08000700 dc050000`,
  },
  {
    name: "a token bucket whose rate has more than 32 bits",
    operation: {
      kind: "replace-qdisc",
      qdisc: { kind: "tbf", device: 3, bucket: { rate: 12_500_000_000, burst: 1_000_000, limit: 0xffffffff } },
    },
    head: "24000105",
    body: `00000000 03000000 00000000 ffffffff 00000000 08000100 74626600
      40000280 28000100 00010000 00000000 ffffffff 00000000 00000000 00000000 ffffffff e2040000 00000000
      08000600 40420f00 0c000400 00dd0ee9 02000000`,
  },
  {
    name: "an ingress qdisc",
    operation: { kind: "replace-qdisc", qdisc: { kind: "ingress", device: 3 } },
    head: "24000105",
    body: "00000000 03000000 0000ffff f1ffffff 00000000 0c000100 696e6772 65737300",
  },
  {
    name: "the end of a token bucket",
    operation: { kind: "delete-qdisc", qdisc: { kind: "tbf", device: 3 } },
    head: "25000100",
    body: "00000000 03000000 00000000 ffffffff 00000000 08000100 74626600",
  },
  {
    name: "a filter that redirects everything",
    operation: { kind: "add-redirect", redirect: { device: 3, to: 4 } },
    head: "2c000106",
    body: `00000000 03000000 00000000 0000ffff 00030100 08000100 75333200
      60000280 38000780 34000180 0b000100 6d697272 65640000 24000280 20000200
      00000000 00000000 04000000 00000000 00000000 01000000 04000000
      24000500 01000100 00000000 00000000 00000000 00000000 00000000 00000000 00000000`,
  },
  {
    name: "a device of a kind without settings",
    operation: { kind: "add-link", plain: { name: "ifb0", kind: "ifb", up: true } },
    head: "10000106",
    body: "00000000 00000000 01000000 01000000 09000300 69666230 00000000 0c001280 08000100 69666200",
  },
];

for (const { name, operation, head, body } of OPERATIONS)
  test(`writeOperation() writes ${name}`, () => {
    const writer = new MessageWriter();
    writeOperation(writer, 3, operation);
    assert.equal(hexLines(writer.bytes.subarray(4, 8)), head);
    assert.equal(hexLines(writer.bytes.subarray(16)), hexLines(unhex(body)));
  });

const BUCKET = { rate: 1000, burst: 1000, limit: 1000 } as const;
const BAD: readonly RouteOperation[] = [
  { kind: "replace-qdisc", qdisc: { kind: "ingress", device: 0 } },
  { kind: "replace-qdisc", qdisc: { kind: "tbf", device: 1, bucket: { ...BUCKET, rate: 0 } } },
  { kind: "replace-qdisc", qdisc: { kind: "tbf", device: 1, bucket: { ...BUCKET, rate: 1.5 } } },
  { kind: "replace-qdisc", qdisc: { kind: "tbf", device: 1, bucket: { ...BUCKET, burst: 2 ** 32 } } },
  { kind: "replace-qdisc", qdisc: { kind: "tbf", device: 1, bucket: { ...BUCKET, limit: 0 } } },
  { kind: "replace-qdisc", qdisc: { kind: "tbf", device: 1, bucket: { ...BUCKET, peakRate: 1000, peakBurst: 1 } } },
  { kind: "replace-qdisc", qdisc: { kind: "tbf", device: 1, bucket: { ...BUCKET, peakRate: 2000 } } },
  { kind: "add-redirect", redirect: { device: 1, to: 0 } },
];

test("writeOperation() refuses queues that cannot be", () => {
  for (const operation of BAD)
    assert.throws(
      () => writeOperation(new MessageWriter(), 1, operation),
      (error) => hasCode(error, "NETLINK_ARGUMENT"),
      JSON.stringify(operation),
    );
});

function readerOf(type: number, body: string): MessageReader {
  const rest = unhex(body);
  const bytes = new Uint8Array(16 + rest.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length, true);
  view.setUint16(4, type, true);
  bytes.set(rest, 16);
  const reader = new MessageReader(bytes);
  assert.ok(reader.next());
  return reader;
}

const QDISCS: readonly { readonly body: string; readonly qdisc: Qdisc }[] = [
  {
    body: `00000000 03000000 00000380 ffffffff 02000000 08000100 74626600
      2c000200 28000100 03010000 ffff0000 d0121300 03010000 ffff0000 20bcbe00 00000200 00881300 53070000`,
    qdisc: {
      device: 3,
      kind: "tbf",
      handle: 0x80030000,
      parent: 0xffffffff,
      bucket: { rate: 1_250_000, limit: 131_072, burst: 102_400, peakRate: 12_500_000, peakBurst: 1500 },
    },
  },
  {
    body: "00000000 03000000 0000ffff f1ffffff 00000000 0c000100 696e6772 65737300 04000200",
    qdisc: { device: 3, kind: "ingress", handle: 0xffff0000, parent: 0xfffffff1 },
  },
];

for (const { body, qdisc } of QDISCS)
  test(`decodeQdisc() reads ${qdisc.kind}`, () => assert.deepEqual(decodeQdisc(readerOf(36, body)), qdisc));

const FILTERS: readonly { readonly name: string; readonly body: string; readonly filter: Filter | undefined }[] = [
  {
    name: "a table of u32 filters as none",
    body: "00000000 03000000 00000080 0000ffff 00030100 08000100 75333200 08000b00 00000000 0c000200 08000400 01000000",
    filter: undefined,
  },
  {
    name: "a u32 filter that redirects",
    body: `00000000 03000000 00080080 0000ffff 00030100 08000100 75333200
      60000200 24000500 01000100 00000000 00000000 00000000 00000000 00000000 00000000 00000000
      38000700 34000100 0b000100 6d697272 65640000 24000200 20000200
      01000000 00000000 04000000 01000000 01000000 01000000 04000000`,
    filter: { device: 3, kind: "u32", redirectTo: 4 },
  },
  {
    name: "a u32 filter that mirrors as one that does not redirect",
    body: `00000000 03000000 00080080 0000ffff 00030100 08000100 75333200
      60000200 24000500 01000100 00000000 00000000 00000000 00000000 00000000 00000000 00000000
      38000700 34000100 0b000100 6d697272 65640000 24000200 20000200
      01000000 00000000 04000000 01000000 01000000 02000000 04000000`,
    filter: { device: 3, kind: "u32" },
  },
  {
    name: "a filter of another kind",
    body: "00000000 03000000 01000000 0000ffff 00030100 08000100 62706600 04000200",
    filter: { device: 3, kind: "bpf" },
  },
];

for (const { body, filter, name } of FILTERS)
  test(`decodeFilter() reads ${name}`, () => assert.deepEqual(decodeFilter(readerOf(44, body)), filter));

test("decoders of queues and filters throw nothing but NetlinkError on random bytes, and end", () => {
  fuzzReader([36], (message) => decodeQdisc(message));
  fuzzReader([44], (message) => decodeFilter(message));
});
