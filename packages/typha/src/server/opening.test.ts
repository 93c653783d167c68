import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hello } from "@bulrush/proto";
import { SnapshotCache } from "../cache/snapshot-cache.ts";
import { encodeText } from "../testing/text-frames.ts";
import { settingUpdate } from "../testing/updates.ts";
import { testHello } from "../testing/websocket-client.ts";
import { openingFor } from "./opening.ts";

test("openingFor() sends a client that was told more elsewhere no snapshot from before", async () => {
  const cache = new SnapshotCache({
    syncer: "felix",
    epoch: "e",
    nowMs: 0,
    encodeFrame: encodeText,
    yieldTurn: () => new Promise((resolve) => setImmediate(resolve)),
  });
  const sentTo = async (held: Partial<Hello>): Promise<readonly [resume: string, sequence: number]> => {
    const { resume, crumb, snapshot } = await openingFor({ ...testHello("a"), ...held } as Hello, cache);
    assert.equal(snapshot?.crumb, crumb);
    return [resume, crumb.sequence];
  };
  cache.publish({ updates: [settingUpdate("x=1@1")], nowMs: 0 });
  assert.deepEqual(await sentTo({}), ["snapshot", 1]);
  // With what is at hand it would delete y, and be told of it again.
  cache.publish({ updates: [settingUpdate("y=1@2")], nowMs: 0 });
  assert.deepEqual(await sentTo({}), ["snapshot", 1], "what is at hand, to who has nothing");
  const resume = { epoch: "of another server", sequence: 7 };
  assert.deepEqual(await sentTo({ resume, revision: 2 }), ["snapshot", 2]);
});
