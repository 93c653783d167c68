import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { decodeMessage, encodeMessage } from "./codec.ts";
import { ProtoError } from "./errors.ts";
import { type DecodeLimits, SERVER_MESSAGE_LIMITS } from "./limits.ts";
import type { SyncMessage } from "./message.ts";

const LIMITS: DecodeLimits = { ...SERVER_MESSAGE_LIMITS, from: "either" };
const RUNS = process.env["BULRUSH_LONG_TESTS"] === "1" ? 100_000 : 5_000;
/** What a mutated frame of a few hundred bytes may cost to read. */
const MAX_HEAP_GROWTH = 64 * 1024 * 1024;

const FOLDER = new URL("../../testdata/golden/", import.meta.url);
const FRAMES: readonly Buffer[] = readdirSync(FOLDER).map((file) =>
  Buffer.from(readFileSync(new URL(file, FOLDER), "utf8").replaceAll(/#.*$/gm, "").replaceAll(/\s/g, ""), "hex"),
);

/** Bytes that begin something: containers, long lengths, extensions, records. */
const OPENERS = [0x40, 0x41, 0x80, 0x8f, 0x90, 0x9f, 0xbf, 0xc1, 0xc6, 0xc9, 0xd4, 0xd5, 0xdb, 0xdc, 0xdd, 0xdf, 0xff];
const byte = fc.oneof(fc.constantFrom(...OPENERS), fc.integer({ min: 0, max: 255 }));
const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });

type Edit = (frame: Buffer) => Buffer;
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(place, byte).map(([at, to]): Edit => {
    return (frame) => {
      const out = Buffer.from(frame);
      if (out.length > 0) out[Math.floor(at * out.length)] = to;
      return out;
    };
  }),
  fc.tuple(place, fc.array(byte, { maxLength: 6 })).map(([at, bytes]): Edit => {
    return (frame) => {
      const cut = Math.floor(at * frame.length);
      return Buffer.concat([frame.subarray(0, cut), Buffer.from(bytes), frame.subarray(cut)]);
    };
  }),
  fc.tuple(place, place).map(([from, to]): Edit => {
    return (frame) =>
      Buffer.concat([
        frame.subarray(0, Math.floor(from * frame.length)),
        frame.subarray(Math.floor(to * frame.length)),
      ]);
  }),
);

function read(frame: Buffer): SyncMessage | undefined {
  try {
    return decodeMessage(frame, LIMITS);
  } catch (error) {
    assert.ok(error instanceof ProtoError, `${frame.toString("hex")} threw ${String(error)}`);
    return undefined;
  }
}

test("decodeMessage() reads a mutated frame or refuses it with a code, within bounded memory", () => {
  const startBytes = process.memoryUsage().heapUsed;
  let accepted = 0;
  fc.assert(
    fc.property(fc.constantFrom(...FRAMES), fc.array(edit, { minLength: 1, maxLength: 4 }), (frame, edits) => {
      const mutated = edits.reduce((bytes, change) => change(bytes), frame);
      const message = read(mutated);
      if (message === undefined) return;
      accepted++;
      // What is accepted is a message: it can be sent on, and then says the same.
      const sent = encodeMessage(message);
      assert.deepEqual(encodeMessage(decodeMessage(sent, LIMITS)), sent);
    }),
    { numRuns: RUNS },
  );
  assert.ok(accepted > 0 && accepted < RUNS, `${accepted} of ${RUNS} accepted`);
  assert.ok(process.memoryUsage().heapUsed - startBytes < MAX_HEAP_GROWTH);
});

test("decodeMessage() refuses random bytes with a code", () => {
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 200 }), (bytes) => {
      read(Buffer.from([0, ...bytes]));
      read(Buffer.from([1, ...bytes]));
    }),
    { numRuns: RUNS },
  );
});
