import assert from "node:assert/strict";
import { test } from "node:test";
import { constants, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { pack } from "msgpackr";
import { catchProto } from "./catch-proto.ts";
import { decodeClientMessage, decodeMessage, decodeServerMessage, encodeMessage } from "./codec.ts";
import type { ProtoErrorCode } from "./errors.ts";
import { CLIENT_MESSAGE_LIMITS, type DecodeLimits, SERVER_MESSAGE_LIMITS } from "./limits.ts";
import type { Delta, KV, SyncMessage } from "./message.ts";

const LIMITS: DecodeLimits = { ...SERVER_MESSAGE_LIMITS, from: "either" };
const ACK_BODY = [0x92, 0x03, 0x05];

function plain(body: readonly number[] | Uint8Array): Buffer {
  return Buffer.from([0, ...body]);
}

/** A frame from an array of fields, made by an encoder that checks nothing. */
function loose(fields: readonly unknown[]): Buffer {
  return plain(pack(fields));
}

function helloWith(digests: string): Buffer {
  return loose([1, 2, "h", "felix", "", "c", null, digests]);
}

function zstd(body: Uint8Array, params: Record<number, number> = { [constants.ZSTD_c_checksumFlag]: 1 }): Buffer {
  return Buffer.concat([Buffer.from([1]), zstdCompressSync(body, { params })]);
}

function deltaOf(kvs: readonly KV[]): Delta {
  return { type: "delta", fromSequence: 1, sequence: 2, kvs, seenAtMs: 3 };
}

function kvOf(value: unknown, path = "/calico/v1/config/x"): KV {
  return { path, value, revision: "1", updateType: "updated" };
}

const kv = ["/calico/v1/config/x", "value", "1", 2];
const peers = Array.from({ length: 65 }, () => "a:1");

/** What stands in the frame, the code, and the field where there is one. */
const BAD_FRAMES: readonly (readonly [string, Buffer, ProtoErrorCode, string?])[] = [
  ["empty", Buffer.alloc(0), "PROTO_TRUNCATED"],
  ["no body", plain([]), "PROTO_TRUNCATED"],
  ["unknown codec", Buffer.from([2, ...ACK_BODY]), "PROTO_UNKNOWN_CODEC"],
  ["not an array", plain([0x05]), "PROTO_MALFORMED"],
  ["a map", plain([0x80]), "PROTO_MALFORMED"],
  ["bytes after the message", plain([...ACK_BODY, 0x00]), "PROTO_MALFORMED"],
  ["empty array", plain([0x90]), "PROTO_UNKNOWN_TYPE"],
  ["unknown message", loose([200]), "PROTO_UNKNOWN_TYPE"],
  ["message number as text", loose(["ack", 1]), "PROTO_UNKNOWN_TYPE"],
  ["array of 2^32-1", plain([0xdd, 0xff, 0xff, 0xff, 0xff]), "PROTO_TRUNCATED"],
  ["map of 2^32-1", plain([0xdf, 0xff, 0xff, 0xff, 0xff]), "PROTO_TRUNCATED"],
  ["string of 2^32-1", plain([0xdb, 0xff, 0xff, 0xff, 0xff]), "PROTO_TRUNCATED"],
  ["nested too deep", plain([...Array<number>(100).fill(0x91), 0xc0]), "PROTO_TOO_BIG"],
  ["50,000 deep", plain([...Array<number>(50_000).fill(0x91), 0xc0]), "PROTO_TOO_BIG"],
  ["binary", plain([0x92, 0x03, 0xc4, 0x01, 0x00]), "PROTO_MALFORMED"],
  ["never-used token", plain([0x92, 0x03, 0xc1]), "PROTO_MALFORMED"],
  ["date", plain([0x92, 0x03, 0xd6, 0xff, 0, 0, 0, 0]), "PROTO_MALFORMED"],
  ["regular expression", plain([0x92, 0x03, 0xc7, 0x00, 0x78, 0x92, 0xa1, 0x61, 0xa0]), "PROTO_MALFORMED"],
  ["reference", plain([0x92, 0x03, 0xd6, 0x70, 0, 0, 0, 1]), "PROTO_MALFORMED"],
  ["error object", plain([0x92, 0x03, 0xd4, 0x65, 0x00, 0x90]), "PROTO_MALFORMED"],
  ["record that is not defined", plain([0x92, 0x03, 0x41]), "PROTO_MALFORMED"],
  ["record id out of range", plain([0x92, 0x03, 0xd4, 0x72, 0x80, 0x90]), "PROTO_MALFORMED"],
  ["record names that are no array", plain([0x92, 0x03, 0xd4, 0x72, 0x40, 0xa1, 0x61]), "PROTO_MALFORMED"],
  ["record name that is no string", plain([0x92, 0x03, 0xd4, 0x72, 0x40, 0x91, 0x01, 0x01]), "PROTO_MALFORMED"],
  ["map key that is no string", plain([0x92, 0x03, 0x81, 0x01, 0x01]), "PROTO_MALFORMED"],
  ["two-byte record", plain([0x92, 0x03, 0xd5, 0x72, 0x40, 0x00, 0x90]), "PROTO_MALFORMED"],
  ["ack without sequence", loose([3]), "PROTO_BAD_FIELD", "ack.sequence"],
  ["nil sequence", loose([3, null]), "PROTO_BAD_FIELD", "ack.sequence"],
  ["negative sequence", loose([3, -1]), "PROTO_BAD_FIELD", "ack.sequence"],
  ["fractional sequence", loose([3, 1.5]), "PROTO_BAD_FIELD", "ack.sequence"],
  ["sequence over 2^53", loose([3, 2 ** 53]), "PROTO_BAD_FIELD", "ack.sequence"],
  ["sequence of 64 bits", plain([0x92, 3, 0xcf, ...Array<number>(8).fill(255)]), "PROTO_BAD_FIELD", "ack.sequence"],
  ["time that is no number", loose([2, Number.NaN]), "PROTO_BAD_FIELD", "pong.pingSentAtMs"],
  ["endless time", loose([2, Number.POSITIVE_INFINITY]), "PROTO_BAD_FIELD", "pong.pingSentAtMs"],
  ["hello of version 0", loose([1, 0, "h", "felix", "", "c"]), "PROTO_BAD_FIELD", "hello.version"],
  ["hello without host", loose([1, 1, "", "felix", "", "c"]), "PROTO_BAD_FIELD", "hello.hostname"],
  ["hello of a long host", loose([1, 1, "h".repeat(254), "felix", "", "c"]), "PROTO_BAD_FIELD", "hello.hostname"],
  ["hello of an unknown syncer", loose([1, 1, "h", "cats", "", "c"]), "PROTO_BAD_FIELD", "hello.syncer"],
  ["hello with long info", loose([1, 1, "h", "bgp", "i".repeat(513), "c"]), "PROTO_BAD_FIELD", "hello.info"],
  ["hello without client id", loose([1, 1, "h", "felix", ""]), "PROTO_BAD_FIELD", "hello.clientId"],
  ["resume as text", loose([1, 1, "h", "felix", "", "c", "e"]), "PROTO_BAD_FIELD", "hello.resume"],
  ["resume without sequence", loose([1, 1, "h", "felix", "", "c", ["e"]]), "PROTO_BAD_FIELD", "hello.resume.sequence"],
  ["digests of three buckets", helloWith("A".repeat(64)), "PROTO_BAD_FIELD", "hello.digests"],
  ["digests of no bucket", helloWith(""), "PROTO_BAD_FIELD", "hello.digests"],
  ["digests of half a bucket", helloWith("A".repeat(11)), "PROTO_BAD_FIELD", "hello.digests"],
  ["digests that are no base64", helloWith("-".repeat(22)), "PROTO_BAD_FIELD", "hello.digests"],
  ["bucket 1024", loose([16, 2, "e", "felix", "buckets", 1, "k", "", [1024]]), "PROTO_BAD_FIELD", "welcome.buckets[0]"],
  ["unknown status", loose([20, 1, "fine"]), "PROTO_BAD_FIELD", "status.status"],
  ["reject code as number", loose([22, 1, "", 0, []]), "PROTO_BAD_FIELD", "reject.code"],
  ["peer as number", loose([22, "internal", "", 0, ["a:1", 2]]), "PROTO_BAD_FIELD", "reject.peers[1]"],
  ["65 peers", loose([23, "internal", "", 0, peers]), "PROTO_TOO_BIG", "goodbye.peers"],
  ["KVs as text", loose([17, "kvs"]), "PROTO_BAD_FIELD", "snapshot.kvs"],
  ["KV as text", loose([17, [kv, "kv"]]), "PROTO_BAD_FIELD", "snapshot.kvs[1]"],
  ["KV with an empty path", loose([17, [["", ...kv.slice(1)]]]), "PROTO_BAD_FIELD", "snapshot.kvs[0].path"],
  ["KV with a long path", loose([17, [["p".repeat(2049), "v", "1", 2]]]), "PROTO_BAD_FIELD", "snapshot.kvs[0].path"],
  ["KV with a bad revision", loose([19, 1, 2, [["p", "v", 7, 2]], 0]), "PROTO_BAD_FIELD", "delta.kvs[0].revision"],
  ["KV with a bad type", loose([19, 1, 2, [["p", "v", "", 4]], 0]), "PROTO_BAD_FIELD", "delta.kvs[0].updateType"],
  ["zstd: too short", Buffer.from([1, 0x28, 0xb5]), "PROTO_TRUNCATED"],
  ["zstd: not zstd", Buffer.from([1, ...ACK_BODY, 0, 0, 0]), "PROTO_BAD_COMPRESSION"],
  ["zstd: no checksum", zstd(Buffer.from(ACK_BODY), {}), "PROTO_BAD_COMPRESSION"],
];

for (const [name, frame, code, field] of BAD_FRAMES)
  test(`decodeMessage() refuses a frame: ${name}`, () => {
    const error = catchProto(() => decodeMessage(frame, LIMITS));
    assert.equal(error.code, code);
    assert.equal(error.data["field"], field);
    if (field !== undefined) assert.ok(error.message.includes(field), error.message);
  });

test("decodeMessage() refuses a compressed body whose checksum is wrong", () => {
  const frame = zstd(Buffer.from(ACK_BODY));
  frame[frame.length - 1] = (frame[frame.length - 1] as number) ^ 1;
  assert.equal(catchProto(() => decodeMessage(frame, LIMITS)).code, "PROTO_BAD_COMPRESSION");
});

test("decodeMessage() stops a decompression at its bound", () => {
  const bomb = zstd(Buffer.alloc(64 * 1024 * 1024));
  assert.ok(bomb.length < 32 * 1024);
  const error = catchProto(() => decodeMessage(bomb, LIMITS));
  assert.equal(error.code, "PROTO_TOO_BIG");
  assert.equal(error.data["limit"], LIMITS.maxBodyBytes);
});

test("decodeMessage() refuses a window larger than any body", () => {
  // Descriptor 0x04: checksum, a window descriptor follows. Window 2^31: exponent 21 above 2^10 (RFC 8878 3.1.1.1.2).
  const frame = Buffer.from([1, 0x28, 0xb5, 0x2f, 0xfd, 0x04, 21 << 3, 1, 0, 0, 0, 0, 0, 0]);
  assert.equal(catchProto(() => decodeMessage(frame, LIMITS)).code, "PROTO_BAD_COMPRESSION");
});

test("decodeMessage() refuses containers of one byte by the million", () => {
  const items = Buffer.alloc(1_000_000, 0x80);
  const head = Buffer.from([0, 0x92, 17, 0xdd, 0x00, 0x0f, 0x42, 0x40]);
  const error = catchProto(() => decodeMessage(Buffer.concat([head, items]), LIMITS));
  assert.equal(error.code, "PROTO_TOO_BIG");
});

test("decodeMessage() holds the frame, the body and the KVs against the limits", () => {
  const frame = encodeMessage(deltaOf([kvOf("a"), kvOf("b")]));
  const limits = { ...LIMITS, maxFrameBytes: frame.length, maxBodyBytes: frame.length - 1, maxKVs: 2 };
  assert.equal(decodeMessage(frame, limits).type, "delta");
  for (const [limit, value] of [
    ["maxFrameBytes", frame.length - 1],
    ["maxBodyBytes", frame.length - 2],
    ["maxKVs", 1],
  ] as const)
    assert.equal(catchProto(() => decodeMessage(frame, { ...limits, [limit]: value })).code, "PROTO_TOO_BIG", limit);
});

test("decodeClientMessage() refuses what only a server sends, and the other way round", () => {
  const ping: SyncMessage = { type: "ping", sentAtMs: 1, upstreamAgeMs: 2, sequence: 3 };
  const ack: SyncMessage = { type: "ack", sequence: 1 };
  assert.equal(catchProto(() => decodeClientMessage(encodeMessage(ping))).code, "PROTO_WRONG_DIRECTION");
  assert.equal(catchProto(() => decodeServerMessage(encodeMessage(ack))).code, "PROTO_WRONG_DIRECTION");
  assert.deepEqual(decodeClientMessage(encodeMessage(ack)), ack);
  assert.deepEqual(decodeServerMessage(encodeMessage(ping)), ping);
});

test("decodeClientMessage() takes the largest hello and refuses a frame over its bound", () => {
  const hello: SyncMessage = {
    type: "hello",
    version: 65_535,
    hostname: "ü".repeat(253),
    syncer: "tunnel-ip-allocation",
    info: "ü".repeat(512),
    clientId: "c".repeat(64),
    resume: { epoch: "e".repeat(64), sequence: Number.MAX_SAFE_INTEGER },
    digests: Buffer.alloc(1024 * 16, 0xff).toString("base64"),
    revision: Number.MAX_SAFE_INTEGER,
  };
  assert.deepEqual(decodeClientMessage(encodeMessage(hello)), hello);
  const big = Buffer.alloc(CLIENT_MESSAGE_LIMITS.maxFrameBytes + 1);
  assert.equal(catchProto(() => decodeClientMessage(big)).code, "PROTO_TOO_BIG");
});

test("encodeMessage() refuses what no client would take", () => {
  const kvs = [kvOf("x".repeat(SERVER_MESSAGE_LIMITS.maxBodyBytes))];
  assert.equal(catchProto(() => encodeMessage({ type: "snapshot", kvs })).code, "PROTO_TOO_BIG");
});

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
const UNSENDABLE: readonly (readonly [string, KV, ProtoErrorCode])[] = [
  ["nests deeper than a client reads", kvOf(deep(60)), "PROTO_TOO_BIG"],
  ["nests by the thousand", kvOf(deep(8000)), "PROTO_TOO_BIG"],
  [
    "has a record of very many fields",
    kvOf(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i]))),
    "PROTO_TOO_BIG",
  ],
  ["holds bytes", kvOf({ a: Buffer.from("x") }), "PROTO_MALFORMED"],
  ["holds a date", kvOf({ a: new Date(0) }), "PROTO_MALFORMED"],
  ["has a path that is too long", kvOf(1, `/${"x".repeat(2048)}`), "PROTO_BAD_FIELD"],
  ["has no path", kvOf(1, ""), "PROTO_BAD_FIELD"],
  ["has a revision that is too long", { ...kvOf(1), revision: "1".repeat(257) }, "PROTO_BAD_FIELD"],
];

for (const [what, kv, code] of UNSENDABLE) {
  test(`encodeMessage() refuses a KV that ${what}, as clients would`, () => {
    assert.equal(catchProto(() => encodeMessage(deltaOf([kvOf(1), kv]))).code, code);
    assert.equal(catchProto(() => encodeMessage({ type: "snapshot", kvs: [kv] })).code, code);
    // Nothing of it is left in the encoder.
    assert.ok(decodeServerMessage(encodeMessage(deltaOf([kvOf(1)]))));
  });
}

test("encodeMessage() gives every frame bytes of its own", () => {
  const first = encodeMessage(deltaOf([kvOf("first")]));
  const copy = Buffer.from(first);
  for (let i = 0; i < 1000; i++) encodeMessage(deltaOf([kvOf("x".repeat(i))]));
  assert.deepEqual(first, copy);
  assert.equal(first.buffer.byteLength, first.length);
});

test("encodeMessage() compresses from the size it is given, if that makes the frame smaller", () => {
  const message = deltaOf([kvOf("a".repeat(1000))]);
  const body = encodeMessage(message).length - 1;
  const compressed = encodeMessage(message, { compressFromBytes: body });
  assert.equal(compressed[0], 1);
  assert.ok(compressed.length < body);
  assert.deepEqual(decodeMessage(compressed, LIMITS), message);
  assert.equal(encodeMessage(message, { compressFromBytes: body + 1 })[0], 0);
  assert.equal(encodeMessage({ type: "ack", sequence: 1 }, { compressFromBytes: 0 })[0], 0);
});

test("decodeMessage() gives a value that shares no bytes with the frame", () => {
  const message = deltaOf([kvOf({ nets: ["10.0.0.0/8"], labels: new Map([["a", "b"]]) })]);
  const frame = encodeMessage(message);
  const decoded = decodeMessage(frame, LIMITS);
  frame.fill(0);
  assert.deepEqual(decoded, message);
});

/** Values as the datastore holds them. */
const leaf = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.integer({ min: 0x40, max: 0x7f }),
  fc.double({ noNaN: true }).filter((number) => !Object.is(number, -0)),
  fc.boolean(),
  fc.constant(null),
);
const name = fc.string({ maxLength: 8 }).filter((text) => text !== "__proto__");
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("any"), { maxLength: 6 }),
    fc.array(fc.tuple(name, tie("any")), { maxLength: 6 }).map((entries) => Object.fromEntries(entries)),
    fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 6 }).map((entries) => new Map(entries)),
  ),
})).any;

test("decodeMessage() gives back every value that encodeMessage() took", () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 20 }), fc.boolean(), (values, compress) => {
      const message = deltaOf(values.filter((item) => item !== null).map((item) => kvOf(item)));
      const frame = encodeMessage(message, compress ? { compressFromBytes: 0 } : {});
      assert.deepEqual(decodeMessage(frame, LIMITS), message);
    }),
    { numRuns: 300 },
  );
});

test("decodeMessage() gives back more record shapes than there are record ids", () => {
  const shapes = Array.from({ length: 300 }, (_, i) => kvOf({ [`a${i}`]: i, [`b${i}`]: { [`c${i % 7}`]: 100 } }));
  const message = deltaOf([...shapes, ...shapes.toReversed(), ...shapes]);
  assert.deepEqual(decodeMessage(encodeMessage(message), LIMITS), message);
});

test("each frame stands alone: it reads the same whatever was encoded and decoded before it", () => {
  const message = deltaOf([kvOf({ nets: [], labels: new Map() })]);
  const before = encodeMessage(message).toString("hex");
  for (let i = 0; i < 100; i++) decodeMessage(encodeMessage(deltaOf([kvOf({ [`x${i}`]: { y: i } })])), LIMITS);
  assert.equal(encodeMessage(message).toString("hex"), before);
  assert.deepEqual(decodeMessage(Buffer.from(before, "hex"), LIMITS), message);
});

test("resources keep objects in memory and have Maps on the wire", () => {
  const path = "/calico/resources/v3/projectcalico.org/kubernetesservices/ns/s";
  const resource = {
    metadata: { name: "s", labels: { "a/b": "c" }, annotations: JSON.parse('{"__proto__":"p"}') as object },
    spec: { selector: { app: "x" }, labelsToApply: { l: "m" }, ports: [{ port: 80 }] },
  };
  const frame = encodeMessage(deltaOf([kvOf(resource, path)]));
  const decoded = decodeMessage(frame, LIMITS);
  assert.deepEqual(decoded, deltaOf([kvOf(resource, path)]));
  // The same bytes under a path that is not a resource's: what stands on the wire.
  const wire = decodeMessage(
    Buffer.from(frame.toString("latin1").replace("/resources/", "/sesources/"), "latin1"),
    LIMITS,
  );
  assert.deepEqual((wire as Delta).kvs[0]?.value, {
    metadata: { name: "s", labels: new Map([["a/b", "c"]]), annotations: new Map([["__proto__", "p"]]) },
    spec: { selector: new Map([["app", "x"]]), labelsToApply: new Map([["l", "m"]]), ports: [{ port: 80 }] },
  });
});

test("a resource with odd shapes passes as it is", () => {
  const path = "/calico/resources/v3/projectcalico.org/nodes/n";
  for (const odd of [
    "text",
    7,
    ["a"],
    { metadata: null },
    { metadata: { labels: null } },
    { metadata: [], spec: "s" },
  ]) {
    const message = deltaOf([kvOf(odd, path)]);
    assert.deepEqual(decodeMessage(encodeMessage(message), LIMITS), message);
  }
});
