import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDurationNs } from "./duration.ts";

test("parseDurationNs() reads what Go's time.ParseDuration reads", () => {
  const rows: readonly [text: string, ns: number | undefined][] = [
    ["0", 0],
    ["0s", 0],
    ["20s", 20e9],
    ["1m30s", 90e9],
    ["2m0s", 120e9],
    ["54.321ms", 54_321_000],
    [".5h", 1800e9],
    ["1.s", 1e9],
    ["-1.5us", -1500],
    ["3µs", 3000],
    ["7ns", 7],
    ["", undefined],
    ["20", undefined],
    ["s", undefined],
    ["1m 30s", undefined],
    ["1d", undefined],
    ["--1s", undefined],
  ];
  for (const [text, ns] of rows) assert.equal(parseDurationNs(text), ns, text);
});
