import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { catchProto } from "./catch-proto.ts";
import { decodeMessage, encodeMessage, frameMessage } from "./codec.ts";
import { type DecodeLimits, SERVER_MESSAGE_LIMITS } from "./limits.ts";
import type { ServerMessage, SyncMessage } from "./message.ts";
import { MESSAGE_TABLES } from "./tables.ts";

const LIMITS: DecodeLimits = { ...SERVER_MESSAGE_LIMITS, from: "either" };
const FOLDER = new URL("../../testdata/golden/", import.meta.url);

interface Golden {
  readonly message: SyncMessage;
  /** False where the bytes are ones that another encoder, or another version, would make. */
  readonly isOurs: boolean;
}

const hello = { type: "hello", version: 1, hostname: "node-a", syncer: "felix", info: "agent/0.1", clientId: "c-01" };
const AT_MS = 1_700_000_000_000;

const GOLDEN: Readonly<Record<string, Golden>> = {
  hello: ours({ ...hello, resume: { epoch: "e-1", sequence: 300 } } as SyncMessage),
  "hello-first": ours(hello as SyncMessage),
  "hello-digests": ours({
    ...hello,
    version: 2,
    resume: { epoch: "e-1", sequence: 300 },
    digests: "AAECAwQFBgcICQoLDA0ODw==",
    revision: 500,
  } as SyncMessage),
  "newer-hello": theirs({ ...hello, version: 4, info: "agent/9" } as SyncMessage),
  "short-hello": theirs(hello as SyncMessage),
  pong: ours({ type: "pong", pingSentAtMs: AT_MS }),
  ack: ours({ type: "ack", sequence: 301 }),
  "ack-zstd": theirs({ type: "ack", sequence: 301 }),
  welcome: ours({
    type: "welcome",
    version: 1,
    epoch: "e-1",
    syncer: "felix",
    resume: "snapshot",
    sequence: 300,
    connectionId: "k-1",
    serverName: "typha-1",
  }),
  "welcome-buckets": ours({
    type: "welcome",
    version: 2,
    epoch: "e-2",
    syncer: "felix",
    resume: "buckets",
    sequence: 301,
    connectionId: "k-2",
    serverName: "typha-2",
    buckets: [3, 900],
  }),
  "welcome-pings": ours({
    type: "welcome",
    version: 3,
    epoch: "e-1",
    syncer: "felix",
    resume: "deltas",
    sequence: 300,
    connectionId: "k-1",
    serverName: "typha-1",
    pingIntervalMs: 45_000,
  }),
  snapshot: ours({
    type: "snapshot",
    kvs: [
      {
        path: "/calico/v1/netset/a",
        value: { nets: ["10.0.0.0/24"], labels: new Map([["team", "x"]]) },
        revision: "7",
        updateType: "new",
      },
      { path: "/calico/v1/netset/b", value: { nets: [], labels: new Map() }, revision: "8", updateType: "new" },
      {
        path: "/calico/resources/v3/projectcalico.org/nodes/n",
        value: { kind: "Node", metadata: { name: "n", labels: { zone: "z" } } },
        revision: "9",
        updateType: "new",
      },
    ],
  }),
  "snapshot-end": ours({ type: "snapshot-end", sequence: 300, count: 3 }),
  delta: ours({
    type: "delta",
    fromSequence: 300,
    sequence: 302,
    kvs: [
      { path: "/calico/v1/netset/a", value: undefined, revision: "10", updateType: "deleted" },
      {
        path: "/calico/v1/policy/tier/t/metadata",
        value: { order: 100, defaultAction: "Pass" },
        revision: "11",
        updateType: "updated",
      },
    ],
    seenAtMs: AT_MS,
  }),
  status: ours({ type: "status", sequence: 302, status: "in-sync" }),
  ping: ours({ type: "ping", sentAtMs: AT_MS, upstreamAgeMs: 500, sequence: 302 }),
  "ping-stale": ours({
    type: "ping",
    sentAtMs: AT_MS,
    upstreamAgeMs: 120_000,
    sequence: 302,
    staleSinceMs: AT_MS - 120_000,
  }),
  reject: ours({
    type: "reject",
    code: "too-many-connections",
    reason: "full",
    retryAfterMs: 5000,
    peers: ["10.0.0.2:5473"],
  }),
  goodbye: ours({
    type: "goodbye",
    code: "draining",
    reason: "rollout",
    retryAfterMs: 0,
    peers: ["10.0.0.2:5473", "[fd00::2]:5473"],
  }),
  "newer-goodbye": theirs({ type: "goodbye", code: "internal", reason: "later", retryAfterMs: 0, peers: [] }),
};

function ours(message: SyncMessage): Golden {
  return { message, isOurs: true };
}

function theirs(message: SyncMessage): Golden {
  return { message, isOurs: false };
}

/** Bytes of a commented hex file: what stands before `#` on each line. */
function readGolden(name: string): Buffer {
  const text = readFileSync(new URL(`${name}.hex`, FOLDER), "utf8");
  return Buffer.from(text.replaceAll(/#.*$/gm, "").replaceAll(/\s/g, ""), "hex");
}

test("golden frames cover every message, and every file is used", () => {
  assert.deepEqual(
    readdirSync(FOLDER).sort(),
    Object.keys(GOLDEN)
      .map((name) => `${name}.hex`)
      .sort(),
  );
  assert.deepEqual(
    [...new Set(Object.values(GOLDEN).map(({ message }) => message.type))].sort(),
    Object.keys(MESSAGE_TABLES).sort(),
  );
});

for (const [name, { message, isOurs }] of Object.entries(GOLDEN)) {
  test(`decodeMessage() reads the golden frame ${name}`, () => {
    assert.deepEqual(decodeMessage(readGolden(name), LIMITS), message);
  });

  if (isOurs)
    test(`encodeMessage() makes the golden frame ${name}`, () => {
      assert.equal(encodeMessage(message).toString("hex"), readGolden(name).toString("hex"));
    });

  test(`decodeMessage() refuses every truncation of ${name}`, () => {
    const frame = readGolden(name);
    for (let length = 0; length < frame.length; length++) {
      const error = catchProto(() => decodeMessage(frame.subarray(0, length), LIMITS));
      const wanted = name === "ack-zstd" && length > 5 ? "PROTO_BAD_COMPRESSION" : "PROTO_TRUNCATED";
      assert.equal(error.code, wanted, `${length} bytes`);
    }
  });
}

test("frameMessage() puts the header before the frame, in one buffer", () => {
  const { message } = GOLDEN.delta as { message: ServerMessage };
  const frame = readGolden("delta");
  assert.equal(frame.length, 0x74);
  const framed = frameMessage(message);
  assert.equal(framed.toString("hex"), `8274${frame.toString("hex")}`);
  assert.equal(framed.buffer.byteLength, framed.length, "the buffer is its own");
});
