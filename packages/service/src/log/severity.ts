import type { LogLevel } from "./logger.ts";

/** The words of the settings, as upstream has them. */
export const LOG_SEVERITIES = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const;

/** Empty: that output is off. */
export type LogSeverity = (typeof LOG_SEVERITIES)[number] | "";

const LEVELS: Readonly<Record<Exclude<LogSeverity, "">, LogLevel>> = {
  DEBUG: "debug",
  INFO: "info",
  WARNING: "warn",
  ERROR: "error",
  CRITICAL: "fatal",
};

/** The level that a severity stands for. */
export function logLevelOf(severity: Exclude<LogSeverity, "">): LogLevel {
  return LEVELS[severity];
}
