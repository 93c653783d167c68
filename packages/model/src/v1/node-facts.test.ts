import assert from "node:assert/strict";
import { test } from "node:test";
import { isWireguardKey, parseAsNumber } from "./node-facts.ts";

test("parseAsNumber() reads both notations of RFC 5396", () => {
  const rows: readonly [value: unknown, want: number | undefined][] = [
    [64512, 64512],
    ["64512", 64512],
    ["1.10", 65_546],
    ["65535.65535", 4_294_967_295],
    [4_294_967_295, 4_294_967_295],
    [4_294_967_296, undefined],
    ["65536.0", undefined],
    ["0.65536", undefined],
    [0, undefined],
    ["0.0", undefined],
    [1.5, undefined],
    [-1, undefined],
    ["x", undefined],
    [undefined, undefined],
  ];
  for (const [value, want] of rows) assert.equal(parseAsNumber(value), want, String(value));
});

test("isWireguardKey() is true for 32 bytes in base64 only", () => {
  const key = (bytes: number): string => Buffer.alloc(bytes, 7).toString("base64");
  assert.ok(isWireguardKey(key(32)));
  for (const bad of [key(31), key(33), key(32).slice(0, -1), `${"A".repeat(42)}B=`, "", 7])
    assert.ok(!isWireguardKey(bad), String(bad));
});
