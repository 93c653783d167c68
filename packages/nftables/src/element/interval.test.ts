import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hex } from "../wire/hex.ts";
import { boundaries, formatInterval, joinBoundaries, mergeIntervals, parseInterval } from "./interval.ts";
import { decodeKey, encodeKey, keyFieldsOf, keyShape } from "./key-shape.ts";

const V4 = keyShape(["ipv4_addr"]);
const V6 = keyShape(["ipv6_addr"]);

/** Element, then its keys as the kernel takes them; "!" marks an end. */
const ELEMENTS: readonly (readonly [text: string, ...keys: string[]])[] = [
  ["10.0.0.0/24", "0x0a000000", "0x0a000100!"],
  ["10.0.0.1", "0x0a000001", "0x0a000002!"],
  ["0.0.0.0/0", "0x00000000"],
  ["255.255.255.255", "0xffffffff"],
  ["128.0.0.0/1", "0x80000000"],
  ["10.0.0.1-10.0.0.9", "0x0a000001", "0x0a00000a!"],
  ["fd00::/8", "0xfd000000000000000000000000000000", "0xfe000000000000000000000000000000!"],
  ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "0xffffffffffffffffffffffffffffffff"],
  ["::/0", "0x00000000000000000000000000000000"],
];

for (const [text, ...keys] of ELEMENTS)
  test(`parseInterval() and boundaries() of ${text}, and back`, () => {
    const shape = text.includes(":") ? V6 : V4;
    const interval = parseInterval(shape, text);
    const elements = boundaries(interval);
    assert.deepEqual(
      elements.map(({ key, end }) => hex(key) + (end ? "!" : "")),
      keys,
    );
    assert.deepEqual(joinBoundaries(elements), [interval]);
    assert.equal(formatInterval(shape, interval), text);
  });

test("parseInterval() clears host bits, and writes a full length without it", () => {
  assert.equal(formatInterval(V4, parseInterval(V4, "10.0.0.9/24")), "10.0.0.0/24");
  assert.equal(formatInterval(V4, parseInterval(V4, "10.0.0.9/32")), "10.0.0.9");
  assert.equal(formatInterval(V6, parseInterval(V6, "FD00:0::1/128")), "fd00::1");
});

for (const bad of ["10.0.0.0/33", "fd00::/8", "10.0.0.9-10.0.0.1", "10.0.0", "", "a-b", "10.0.0.1-"])
  test(`parseInterval() refuses '${bad}'`, () => {
    assert.throws(() => parseInterval(V4, bad), /Invalid set element/);
  });

test("joinBoundaries() takes elements in any order, and leaves ends without a start alone", () => {
  const end = { key: Uint8Array.of(0, 0, 0, 0), end: true };
  const all = [...boundaries(parseInterval(V4, "10.0.0.0/25")), ...boundaries(parseInterval(V4, "10.0.0.128/25")), end];
  const texts = joinBoundaries(all.reverse()).map((interval) => formatInterval(V4, interval));
  assert.deepEqual(texts, ["10.0.0.0/25", "10.0.0.128/25"]);
});

test("mergeIntervals() covers the same keys with the fewest ranges", () => {
  const PORT = keyShape(["inet_service"]);
  const range = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 8 }));
  fc.assert(
    fc.property(fc.array(range, { maxLength: 8 }), (ranges) => {
      const merged = mergeIntervals(ranges.map(([first, size]) => parseInterval(PORT, `${first}-${first + size}`)));
      const ports = new Set(ranges.flatMap(([first, size]) => Array.from({ length: size + 1 }, (_, i) => first + i)));
      const covered = merged.flatMap(({ first, last }) => {
        const [from, to] = [Number(PORT.fields[0]?.decode(first)), Number(PORT.fields[0]?.decode(last))];
        return Array.from({ length: to - from + 1 }, (_, i) => from + i);
      });
      assert.deepEqual(
        covered,
        [...ports].sort((a, b) => a - b),
      );
      const gaps = [...ports].filter((port) => !ports.has(port - 1)).length;
      assert.equal(merged.length, gaps);
    }),
  );
});

/** Text, datatype number and bytes (spec/dataplane.md 8.1: 6-bit shifts, each field padded to four bytes). */
const KEYS = [
  {
    fields: ["ipv4_addr", "inet_proto", "inet_service"],
    datatype: 0x730d,
    text: "10.0.0.1 . tcp . 8080",
    key: "0x0a000001060000001f900000",
  },
  { fields: ["ipv4_addr", "ipv4_addr"], datatype: 0x1c7, text: "10.0.0.1 . 10.0.0.2", key: "0x0a0000010a000002" },
  { fields: ["inet_service"], datatype: 13, text: "53", key: "0x0035" },
  { fields: ["mark"], datatype: 19, text: "0x00010000", key: "0x00000100" },
  { fields: ["ifname"], datatype: 41, text: "eth0", key: "0x65746830000000000000000000000000" },
  { fields: ["inet_proto"], datatype: 12, text: "253", key: "0xfd" },
] as const;

for (const { fields, datatype, text, key } of KEYS)
  test(`encodeKey() and decodeKey() of '${text}'`, () => {
    const shape = keyShape(fields);
    assert.equal(shape.datatype, datatype);
    assert.deepEqual(keyFieldsOf(datatype), fields);
    assert.equal(hex(encodeKey(shape, text)), key);
    assert.equal(decodeKey(shape, encodeKey(shape, text)), text);
  });

test("encodeKey() refuses values that are none of the field, and the wrong number of fields", () => {
  const shape = keyShape(["ipv4_addr", "inet_proto", "inet_service"]);
  for (const bad of [
    "10.0.0.1 . tcp",
    "10.0.0.1 . tcp . 80 . 1",
    "10.0.0.1 . tcp . 65536",
    "10.0.0.1 . xyz . 80",
    "::1 . tcp . 80",
    "10.0.0.1,tcp,80",
  ])
    assert.throws(() => encodeKey(shape, bad), /Invalid set element/, bad);
  assert.throws(() => encodeKey(keyShape(["ifname"]), "sixteen-bytes-xx"), /Invalid set element/);
});

test("keyFieldsOf() knows only types that we use", () => {
  assert.equal(keyFieldsOf(9), undefined);
  assert.equal(keyFieldsOf(0), undefined);
  assert.equal(keyFieldsOf((7 << 6) | 9), undefined);
});
