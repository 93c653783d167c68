/** From least to most severe. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "fatal"] as const;
/** From the least to the gravest, in the order of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Facts beside the message. An Error is written with its message, code and stack. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * What every package logs through. Messages start upper case, have no full stop and never carry values that vary: those
 * go into the fields. Never throws. Fields whose names look like secrets are redacted.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** For what ends the process. Does not end it. */
  fatal(message: string, fields?: LogFields): void;
  /** A logger that adds these fields to each of its lines. */
  child(fields: LogFields): Logger;
  /** True when a line of this level is written anywhere: asks before costly fields are made. */
  isEnabled(level: LogLevel): boolean;
}
