import { cleanFields, LOG_LEVELS, type LogFields, type Logger, type LogLevel } from "@bulrush/service";

/** A logger whose lines another thread writes. `levels`: those that are written at all. */
export function portLogger(
  post: (level: LogLevel, message: string, fields: LogFields) => void,
  levels: readonly LogLevel[],
  inherited: LogFields = {},
): Logger {
  const isEnabled = (level: LogLevel): boolean => levels.includes(level);
  const write =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (isEnabled(level)) post(level, message, cleanFields({ ...inherited, ...fields }));
    };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    fatal: write("fatal"),
    child: (fields) => portLogger(post, levels, { ...inherited, ...fields }),
    isEnabled,
  };
}

/** What to give a `portLogger` that writes through `logger`. */
export function enabledLevels(logger: Logger): readonly LogLevel[] {
  return LOG_LEVELS.filter((level) => logger.isEnabled(level));
}
