import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { memoryLogger } from "@bulrush/service";
import { LimitedLog } from "./limited-log.ts";

test("LimitedLog.warn() writes 30 lines of a message a minute, and says how many it left out", async () => {
  const clock = new ManualClock();
  const logger = memoryLogger();
  const log = new LimitedLog(clock, logger);
  for (let i = 0; i < 100; i++) log.warn("TLS handshake failed", { peer: `p${i}` });
  log.warn("Client rejected", { peer: "other" });
  assert.equal(logger.records.length, 31);
  await clock.advance(60_000);
  log.warn("TLS handshake failed", { peer: "again" });
  assert.deepEqual(logger.records.at(-1)?.fields, { peer: "again", linesLeftOut: 70 });
});
