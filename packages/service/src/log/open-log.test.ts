import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { LoadedConfig } from "../config/load.ts";
import { memoryLogger } from "./memory-logger.ts";
import { type LogSettings, openLog } from "./open-log.ts";

const directory = mkdtempSync(join(tmpdir(), "bulrush-log-"));
after(() => rmSync(directory, { recursive: true }));

function loaded(values: Partial<LogSettings>, isAskedFor = false): LoadedConfig<LogSettings> {
  return {
    values: {
      LogFilePath: "",
      LogSeverityFile: "INFO",
      LogSeverityScreen: "",
      DebugDisableLogDropping: true,
      ...values,
    },
    origins: new Map(isAskedFor ? [["LogFilePath", { source: "environment", text: "x" }]] : []),
    rejected: new Set(),
    warnings: [],
    errors: [],
  };
}

test("openLog() writes from the severity on into the file", () => {
  const path = join(directory, "a.log");
  const log = openLog("p", loaded({ LogFilePath: path, LogSeverityFile: "WARNING" }), memoryLogger());
  log.info("Too little");
  log.warn("Enough");
  log.close();
  assert.match(readFileSync(path, "utf8"), /^\{"level":"warn".*"program":"p","msg":"Enough"\}\n$/);
});

test("openLog() goes without a default file that cannot be opened, and says so", () => {
  const early = memoryLogger();
  openLog("p", loaded({ LogFilePath: join(directory, "missing", "a.log") }), early).close();
  assert.deepEqual(
    early.records.map(({ message }) => message),
    ["No log file: the default one cannot be opened"],
  );
});

test("openLog() throws where the file was asked for", () => {
  const path = join(directory, "missing", "a.log");
  assert.throws(() => openLog("p", loaded({ LogFilePath: path }, true), memoryLogger()), { code: "SERVICE_LOG_FILE" });
});
