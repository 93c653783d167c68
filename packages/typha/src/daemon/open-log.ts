import { createLogger, logLevelOf, type RootLogger } from "@bulrush/service";
import type { TyphaConfig } from "../config/typha-config.ts";

/** What stands in each log line as the program. */
export const PROGRAM = "bulrush-typha";

/** The log until the settings are read: standard output. */
export function openEarlyLog(config: TyphaConfig): RootLogger {
  const severity = config.EarlyLogSeverityScreen || config.LogSeverityScreen || "ERROR";
  return createLogger({ program: PROGRAM, outputs: [{ to: "stdout", level: logLevelOf(severity) }] });
}
