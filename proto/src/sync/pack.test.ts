import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Packr } from "msgpackr";
import { catchProto } from "./catch-proto.ts";
import type { ProtoErrorCode } from "./errors.ts";
import { packBody } from "./pack.ts";
import { PackedKVs } from "./packed-kvs.ts";
import { scanBody } from "./scan.ts";

/** Another encoder of the same form: of records defined inline, and no state. */
const other = new Packr({ useRecords: true, moreTypes: false });

const name = fc.constantFrom("a", "b", "spec", "projectcalico.org/namespace", "ü");
const leaf = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.constantFrom("x".repeat(31), "x".repeat(32), "ü".repeat(16), "x".repeat(255), "x".repeat(256), "é".repeat(130)),
  fc.constantFrom("x".repeat(65_535), "x".repeat(65_536), "\ud800", "a\udc00b"),
  fc.integer(),
  fc.constantFrom(0x3f, 0x40, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, 2 ** 53 - 1),
  fc.constantFrom(-1, -0x20, -0x21, -0x80, -0x81, -0x8000, -0x8001, -0x8000_0000, -0x8000_0001, 1.5, -1.5),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
);
/** Few field names, so that no body has more shapes than there are ids. */
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("any"), { maxLength: 20 }),
    fc.dictionary(fc.constantFrom("a", "b"), tie("any")),
    fc.array(fc.tuple(name, tie("any")), { maxLength: 20 }).map((entries) => new Map(entries)),
  ),
})).any;

test("packBody() gives the bytes that another encoder of this form gives", () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 8 }), (fields) => {
      assert.deepEqual(Buffer.from(packBody(fields)), Buffer.from(other.pack(fields)));
    }),
    { numRuns: 300 },
  );
});

const nested = (levels: number, inner: unknown): unknown => (levels === 0 ? inner : [nested(levels - 1, inner)]);
const fieldsOf = (count: number): unknown => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, i]));
const LIMITS: readonly (readonly [string, readonly unknown[], boolean])[] = [
  ["nests as deep as may be", [nested(47, 1)], true],
  ["nests as deep as may be, an empty list in it", [nested(47, [])], true],
  ["nests one deeper", [nested(48, 1)], false],
  ["nests Maps and records too deep", [nested(40, new Map([["a", { b: nested(7, 1) }]]))], false],
  ["has as many containers as its size allows", Array.from({ length: 5460 }, () => []), true],
  ["has more containers than its size allows", Array.from({ length: 5463 }, () => []), false],
  ["has 256 fields", [fieldsOf(256)], true],
  ["has 257 fields", [fieldsOf(257)], false],
];

for (const [what, fields, isFine] of LIMITS)
  test(`packBody() takes what a reader takes: a body that ${what}`, () => {
    // The reader's own judgement, of bytes that another encoder made.
    const bytes = Buffer.from(other.pack(fields));
    if (isFine) {
      scanBody(bytes);
      assert.deepEqual(Buffer.from(packBody(fields)), bytes);
      return;
    }
    assert.equal(catchProto(() => scanBody(bytes)).code, "PROTO_TOO_BIG");
    assert.equal(catchProto(() => packBody(fields)).code, "PROTO_TOO_BIG");
  });

const cycle: unknown[] = [];
cycle.push(cycle);
class Odd extends Map<string, unknown> {}
const REFUSED: readonly (readonly [string, unknown, ProtoErrorCode])[] = [
  ["a date", new Date(0), "PROTO_MALFORMED"],
  ["a date beside an empty object, which has the same fields", [{}, new Date(0)], "PROTO_MALFORMED"],
  ["bytes", new Uint8Array(3), "PROTO_MALFORMED"],
  ["a set", new Set([1]), "PROTO_MALFORMED"],
  ["an expression", /x/, "PROTO_MALFORMED"],
  ["a function", () => 1, "PROTO_MALFORMED"],
  ["a symbol", Symbol("s"), "PROTO_MALFORMED"],
  ["a bigint", 1n, "PROTO_MALFORMED"],
  ["a map whose keys are numbers", new Map([[1, 2]]), "PROTO_MALFORMED"],
  ["a list that holds itself", cycle, "PROTO_TOO_BIG"],
  ["a string of 17 MiB", "x".repeat(17 * 1024 * 1024), "PROTO_TOO_BIG"],
  ["ten strings of 4 MiB", Array.from({ length: 10 }, () => "x".repeat(4 * 1024 * 1024)), "PROTO_TOO_BIG"],
];

for (const [what, field, code] of REFUSED)
  test(`packBody() refuses ${what}, and nothing of it is left`, () => {
    assert.equal(catchProto(() => packBody([1, field])).code, code);
    assert.deepEqual(Buffer.from(packBody([1, { a: 2 }])), Buffer.from(other.pack([1, { a: 2 }])));
  });

test("packBody() takes what is as good as plain: no prototype, instances of classes, maps of a subclass", () => {
  const bare: unknown = Object.assign(Object.create(null) as object, { a: 1 });
  class Point {
    readonly a: number = 1;
  }
  const odd = new Odd([["k", 1]]);
  const plain = [{ a: 1 }, { a: 1 }, new Map([["k", 1]])];
  assert.deepEqual(Buffer.from(packBody([bare, new Point(), odd])), Buffer.from(other.pack(plain)));
});

test("packBody() refuses packed KVs that are too large together before it makes room for them", (t) => {
  const source = Buffer.alloc(1_000_000, 1);
  const part = { source, start: 0, end: source.length, type: undefined };
  const kvs = (count: number): PackedKVs =>
    new PackedKVs(
      count,
      Array.from({ length: count }, () => part),
      count * source.length,
    );
  assert.equal(packBody([kvs(16)]).length, 1 + 3 + 16_000_000);
  const allocations = t.mock.method(Buffer, "allocUnsafeSlow").mock;
  assert.equal(catchProto(() => packBody([kvs(300)])).code, "PROTO_TOO_BIG");
  for (const {
    arguments: [size = 0],
  } of allocations.calls)
    assert.ok(size < 1_000_000, `made room for ${size} bytes`);
});
