import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { datastoreCodeOf } from "../../errors.ts";
import { rangeRequest, type RangeResponse, rangeResponse, watchResponse } from "./messages.ts";
import { decodeMessage, encodeMessage, type Schema } from "./protobuf.ts";

interface Sample {
  readonly a?: number;
  readonly b?: string;
  readonly c?: Sample;
  readonly d?: bigint;
  readonly e?: Buffer;
  readonly f?: boolean;
  readonly g?: readonly Sample[];
}

const sample: Schema<Sample> = {
  a: [1, "int64"],
  b: [2, "string"],
  c: [3, "message", () => sample],
  d: [4, "uint64"],
  e: [5, "bytes"],
  f: [6, "bool"],
  g: [16, "repeated", () => sample],
};

// The first three are the examples of https://protobuf.dev/programming-guides/encoding.
const CASES: readonly (readonly [string, Sample, string])[] = [
  ["a number", { a: 150 }, "08 96 01"],
  ["a string", { b: "testing" }, "12 07 74 65 73 74 69 6e 67"],
  ["a message in a message", { c: { a: 150 } }, "1a 03 08 96 01"],
  ["a negative number takes ten bytes", { a: -1 }, "08 ff ff ff ff ff ff ff ff ff 01"],
  ["a zero that is set", { a: 0 }, "08 00"],
  ["2^53 - 1", { a: Number.MAX_SAFE_INTEGER }, "08 ff ff ff ff ff ff ff 0f"],
  ["an id of 64 bits", { d: 0xffff_ffff_ffff_ffffn }, "20 ff ff ff ff ff ff ff ff ff 01"],
  ["bytes", { e: Buffer.from([0, 255]) }, "2a 02 00 ff"],
  ["true", { f: true }, "30 01"],
  ["a list, whose tag has two bytes", { g: [{ a: 1 }, {}] }, "82 01 02 08 01 82 01 00"],
  ["nothing", {}, ""],
];

const EMPTY_SAMPLE = { a: 0, b: "", c: undefined, d: 0n, e: Buffer.alloc(0), f: false, g: [] };

function filled(value: Sample): unknown {
  return {
    ...EMPTY_SAMPLE,
    ...value,
    ...(value.c !== undefined && { c: filled(value.c) }),
    ...(value.g !== undefined && { g: value.g.map(filled) }),
  };
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(" ", ""), "hex");
}

for (const [name, value, bytes] of CASES) {
  test(`encodeMessage() and decodeMessage(): ${name}`, () => {
    assert.equal(encodeMessage(sample, value).toString("hex"), bytes.replaceAll(" ", ""));
    assert.deepEqual(decodeMessage(sample, hex(bytes)), filled(value));
  });
}

test("decodeMessage() skips fields that it does not know, of every wire type", () => {
  // Fields 20 (varint), 21 (64 bits), 22 (bytes), 23 (32 bits).
  const unknown = "a0 01 96 01  a9 01 01 02 03 04 05 06 07 08  b2 01 02 ff ff  bd 01 01 02 03 04";
  assert.deepEqual(decodeMessage(sample, hex(`${unknown} 08 07`)), filled({ a: 7 }));
});

const MALFORMED: readonly (readonly [string, string])[] = [
  ["a number without an end", "08 96"],
  ["a number of eleven bytes", "08 ff ff ff ff ff ff ff ff ff ff 01"],
  ["a number that is not exact as one of ours", "08 ff ff ff ff ff ff ff ff 7f"],
  ["a length over the end", "12 07 74"],
  ["a part that is longer than its message", "1a 02 08 96 01"],
  ["a known field of another wire type", "0a 01 00"],
  ["a group, which nobody sends", "0b"],
  ["64 bits cut short", "a9 01 01 02"],
];

for (const [name, bytes] of MALFORMED) {
  test(`decodeMessage() refuses ${name}`, () => {
    assert.throws(
      () => decodeMessage(sample, hex(bytes)),
      (error) => datastoreCodeOf(error) === "DATASTORE_MALFORMED",
    );
  });
}

test("decodeMessage() refuses what nests without end", () => {
  let bytes = Buffer.alloc(0);
  for (let i = 0; i < 20; i++) bytes = Buffer.concat([Buffer.from([0x1a, bytes.length]), bytes]);
  assert.throws(() => decodeMessage(sample, bytes), /nested too deep/);
});

test("decodeMessage() of any bytes gives a message or DATASTORE_MALFORMED", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      for (const schema of [sample, rangeResponse, watchResponse]) {
        try {
          decodeMessage(schema as Schema<unknown>, Buffer.from(bytes));
        } catch (error) {
          assert.equal(datastoreCodeOf(error), "DATASTORE_MALFORMED");
        }
      }
    }),
  );
});

test("decodeMessage() gives back what encodeMessage() wrote", () => {
  const bytes = fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value));
  const revision = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
  const clusterId = fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn });
  const response: fc.Arbitrary<RangeResponse> = fc
    .tuple(clusterId, revision, fc.array(fc.tuple(bytes, revision, revision, bytes)), fc.boolean())
    .map(([cluster_id, at, pairs, more]) => ({
      header: { cluster_id, revision: at },
      kvs: pairs.map(([key, create_revision, mod_revision, value]) => ({ key, create_revision, mod_revision, value })),
      more,
      count: pairs.length,
    }));
  fc.assert(
    fc.property(response, (value) => {
      const read = decodeMessage(rangeResponse, encodeMessage(rangeResponse, value));
      assert.deepEqual(read, value);
    }),
  );
});

test("rangeRequest has the field numbers of etcd's rpc.proto", () => {
  const request = { key: Buffer.from("a"), range_end: Buffer.from("b"), limit: 2, revision: 3, keys_only: true };
  assert.equal(encodeMessage(rangeRequest, request).toString("hex"), "0a0161120162180220034001");
});
