import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestName } from "./nearest-name.ts";

const NAMES = ["HealthPort", "HealthHost", "ServerPort", "MaxConnectionsUpperLimit", "CAFile"];

test("nearestName() finds what was meant", () => {
  const rows: readonly [written: string, want: string | undefined][] = [
    ["HEALTH_PORT", "HealthPort"],
    ["healthprot", "HealthPort"],
    ["HealtHost", "HealthHost"],
    ["MAXCONNECTIONSUPERLIMITS", "MaxConnectionsUpperLimit"],
    ["server-port", "ServerPort"],
    ["CaFil", "CAFile"],
    ["DEBUGGING", undefined],
    ["x", undefined],
  ];
  for (const [written, want] of rows) assert.equal(nearestName(written, NAMES), want, written);
});
