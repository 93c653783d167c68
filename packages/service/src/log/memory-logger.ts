import type { LogFields, Logger, LogLevel } from "./logger.ts";

/** One line. */
export interface LogRecord {
  readonly level: LogLevel;
  readonly message: string;
  /** Own fields and those of the loggers it came through, uncleaned. */
  readonly fields: LogFields;
}

/** A logger for tests: keeps every line. */
export interface MemoryLogger extends Logger {
  /** Oldest first; grows without bound. */
  readonly records: readonly LogRecord[];
}

/** Starts empty; children write to the same records. */
export function memoryLogger(): MemoryLogger {
  const records: LogRecord[] = [];
  return Object.assign(make(records, {}), { records });
}

function make(records: LogRecord[], inherited: LogFields): Logger {
  const write =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      records.push({ level, message, fields: { ...inherited, ...fields } });
    };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    fatal: write("fatal"),
    child: (fields) => make(records, { ...inherited, ...fields }),
    isEnabled: () => true,
  };
}
