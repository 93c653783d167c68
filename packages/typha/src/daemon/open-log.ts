import {
  createLogger,
  type LoadedConfig,
  type Logger,
  type LogLevel,
  type LogOutput,
  type RootLogger,
} from "@bulrush/service";
import type { LogSeverity, TyphaConfig } from "../config/typha-config.ts";

/** What stands in each log line as the program. */
const PROGRAM = "bulrush-typha";

const LEVELS: Readonly<Record<Exclude<LogSeverity, "">, LogLevel>> = {
  DEBUG: "debug",
  INFO: "info",
  WARNING: "warn",
  ERROR: "error",
  CRITICAL: "fatal",
};

/** The log until the settings are read: standard output. */
export function openEarlyLog(config: TyphaConfig): RootLogger {
  const severity = config.EarlyLogSeverityScreen || config.LogSeverityScreen || "ERROR";
  return createLogger({ program: PROGRAM, outputs: [{ to: "stdout", level: LEVELS[severity] }] });
}

/**
 * The log of the settings. Throws SERVICE_LOG_FILE when a file that was asked for cannot be opened; when the default
 * one cannot, there is no file.
 */
export function openLog(loaded: LoadedConfig<TyphaConfig>, early: Logger): RootLogger {
  const { LogFilePath, LogSeverityFile, LogSeverityScreen, DebugDisableLogDropping } = loaded.values;
  const screen: LogOutput[] = LogSeverityScreen === "" ? [] : [{ to: "stdout", level: LEVELS[LogSeverityScreen] }];
  const file: LogOutput[] =
    LogSeverityFile === "" || LogFilePath === "" ? [] : [{ to: { file: LogFilePath }, level: LEVELS[LogSeverityFile] }];
  const make = (outputs: readonly LogOutput[]): RootLogger =>
    createLogger({ program: PROGRAM, outputs, dropWhenBlocked: !DebugDisableLogDropping });
  try {
    return make([...screen, ...file]);
  } catch (error) {
    if (loaded.origins.has("LogFilePath")) throw error;
    early.info("No log file: the default one cannot be opened", { path: LogFilePath });
    return make(screen);
  }
}
