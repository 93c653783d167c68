import assert from "node:assert/strict";
import { test } from "node:test";
import { hashValue } from "@bulrush/proto";
import { SnapshotCache } from "../cache/snapshot-cache.ts";
import { encodeText } from "../testing/text-frames.ts";
import { settingUpdate } from "../testing/updates.ts";
import { compareWith } from "./compare.ts";

const hashOf = (path: string, value: unknown): string =>
  Buffer.from(hashValue(path, value), "latin1").toString("base64");

test("compareWith() names what is another, missing, or still there, as of one sequence", () => {
  const yieldTurn = (): Promise<void> => Promise.resolve();
  const cache = new SnapshotCache({ syncer: "felix", epoch: "e", nowMs: 0, encodeFrame: encodeText, yieldTurn });
  cache.publish({ updates: ["same=1@1", "other=1@1", "there=1@1"].map(settingUpdate), status: "in-sync", nowMs: 1 });
  const kvs = [
    { path: "same", hash: hashOf("same", "1") },
    { path: "other", hash: hashOf("other", "2") },
    { path: "missing", hash: hashOf("missing", "1") },
    { path: "there", hash: null },
    { path: "gone", hash: null },
  ];
  assert.deepEqual(compareWith(cache, { syncer: "felix", kvs }), {
    epoch: "e",
    sequence: 1,
    status: "in-sync",
    differing: ["other", "missing", "there"],
  });
});
