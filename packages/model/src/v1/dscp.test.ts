import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDscp } from "./dscp.ts";

/** The 22 names of code points (RFC 2474, 2597, 3246). */
const NAMES = {
  DF: 0,
  CS0: 0,
  CS1: 8,
  AF11: 10,
  AF12: 12,
  AF13: 14,
  CS2: 16,
  AF21: 18,
  AF22: 20,
  AF23: 22,
  CS3: 24,
  AF31: 26,
  AF32: 28,
  AF33: 30,
  CS4: 32,
  AF41: 34,
  AF42: 36,
  AF43: 38,
  CS5: 40,
  EF: 46,
  CS6: 48,
  CS7: 56,
} as const;

test("P35: parseDscp() knows all 22 names, in any case", () => {
  assert.equal(Object.keys(NAMES).length, 22);
  for (const [name, value] of Object.entries(NAMES)) {
    assert.equal(parseDscp(name), value, name);
    assert.equal(parseDscp(` ${name.toLowerCase()} `), value, name);
  }
});

test("parseDscp() takes numbers from 0 to 63 and their texts, and nothing else", () => {
  for (const number of [0, 23, 63]) {
    assert.equal(parseDscp(number), number);
    assert.equal(parseDscp(String(number)), number);
  }
  for (const bad of [64, -1, 1.5, "", "64", "-1", "1.5", "AF14", "AF51", "CS8", "AF", "EF1", null, true])
    assert.equal(parseDscp(bad), undefined, String(bad));
});
