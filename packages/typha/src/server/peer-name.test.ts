import assert from "node:assert/strict";
import { test } from "node:test";
import { peerName } from "./peer-name.ts";

const NAMES: readonly [address: string | undefined, name: string][] = [
  ["10.0.0.7", "10.0.0.7:4000"],
  ["::ffff:10.0.0.7", "10.0.0.7:4000"],
  ["fd00::7", "[fd00::7]:4000"],
  [undefined, "unknown"],
];

for (const [remoteAddress, name] of NAMES) {
  test(`peerName() shows ${String(remoteAddress)} as ${name}`, () => {
    assert.equal(peerName({ remoteAddress, remotePort: 4000 }), name);
  });
}
