import type { LoadedConfig } from "../config/load.ts";
import { createLogger, type LogOutput, type RootLogger } from "./create-logger.ts";
import type { Logger } from "./logger.ts";
import { type LogSeverity, logLevelOf } from "./severity.ts";

/** What the settings of a process say of its log. */
export interface LogSettings {
  readonly LogFilePath: string;
  readonly LogSeverityFile: LogSeverity;
  readonly LogSeverityScreen: LogSeverity;
  readonly DebugDisableLogDropping: boolean;
}

/**
 * The log that the settings ask for. Throws SERVICE_LOG_FILE when a file that was asked for cannot be opened; when the
 * default one cannot, there is no file, and `early` says so.
 */
export function openLog(program: string, loaded: LoadedConfig<LogSettings>, early: Logger): RootLogger {
  const { LogFilePath, LogSeverityFile, LogSeverityScreen, DebugDisableLogDropping } = loaded.values;
  const screen: LogOutput[] = LogSeverityScreen === "" ? [] : [{ to: "stdout", level: logLevelOf(LogSeverityScreen) }];
  const file: LogOutput[] =
    LogSeverityFile === "" || LogFilePath === ""
      ? []
      : [{ to: { file: LogFilePath }, level: logLevelOf(LogSeverityFile) }];
  const make = (outputs: readonly LogOutput[]): RootLogger =>
    createLogger({ program, outputs, dropWhenBlocked: !DebugDisableLogDropping });
  try {
    return make([...screen, ...file]);
  } catch (error) {
    if (loaded.origins.has("LogFilePath")) throw error;
    early.info("No log file: the default one cannot be opened", { path: LogFilePath });
    return make(screen);
  }
}
