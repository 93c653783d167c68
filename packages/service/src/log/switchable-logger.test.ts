import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryLogger } from "./memory-logger.ts";
import { switchableLogger } from "./switchable-logger.ts";

test("switchableLogger() sends later lines to the new logger, also those of older children", () => {
  const early = memoryLogger();
  const late = memoryLogger();
  const logger = switchableLogger(early);
  const child = logger.child({ part: "a" }).child({ peer: "b" });
  logger.info("One");
  child.warn("Two");
  logger.switchTo(late);
  logger.info("Three");
  child.warn("Four", { x: 1 });
  assert.deepEqual(
    early.records.map(({ message }) => message),
    ["One", "Two"],
  );
  assert.deepEqual(
    late.records.map(({ message, fields }) => [message, fields]),
    [
      ["Three", {}],
      ["Four", { part: "a", peer: "b", x: 1 }],
    ],
  );
});
