import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryLogger } from "@bulrush/service";
import type { Problem } from "../problem.ts";
import { problemLog } from "./problem-log.ts";

test("problemLog() says each problem once, by its severity, and once when it is mended", () => {
  const logger = memoryLogger();
  const log = problemLog(logger);
  const bad: Problem = { severity: "error", message: "Bad" };
  const odd: Problem = { severity: "warning", message: "Odd" };
  log([bad]);
  log([bad, odd]);
  log([odd]);
  log([]);
  assert.deepEqual(
    logger.records.map(({ level, message, fields }) => `${level}: ${message}: ${String(fields["problem"])}`),
    [
      "error: Manifest problem: Bad",
      "warn: Manifest problem: Odd",
      "info: Manifest problem is mended: Bad",
      "info: Manifest problem is mended: Odd",
    ],
  );
});
