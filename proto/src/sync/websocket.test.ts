import assert from "node:assert/strict";
import { test } from "node:test";
import { websocketHeader } from "./websocket.ts";

/** RFC 6455 section 5.2: FIN and opcode 2, then the length in 7, 7 + 16 or 7 + 64 bits. */
const HEADERS: readonly (readonly [number, string])[] = [
  [0, "8200"],
  [1, "8201"],
  [125, "827d"],
  [126, "827e007e"],
  [65_535, "827effff"],
  [65_536, "827f0000000000010000"],
  [16_777_216, "827f0000000001000000"],
  [0xffff_ffff, "827f00000000ffffffff"],
  [0x1_0000_0002, "827f0000000100000002"],
];

for (const [length, hex] of HEADERS)
  test(`websocketHeader() gives the header of ${length} bytes`, () => {
    assert.equal(websocketHeader(length).toString("hex"), hex);
  });
