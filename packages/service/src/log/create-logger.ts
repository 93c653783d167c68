import { openSync } from "node:fs";
import { isatty } from "node:tty";
import { type DestinationStream, multistream, type Logger as PinoLogger, pino, stdTimeFunctions } from "pino";
import { messageOf } from "@bulrush/base";
import { ServiceError } from "../errors.ts";
import { cleanFields } from "./fields.ts";
import { LogSink } from "./log-sink.ts";
import { LOG_LEVELS, type LogFields, type Logger, type LogLevel } from "./logger.ts";
import { prettyLine } from "./pretty.ts";

/** One place that lines go to. Each has a level and a form of its own. */
export interface LogOutput {
  /** A file is opened for appending and made when missing. */
  readonly to: "stdout" | "stderr" | { readonly file: string } | { readonly write: (line: string) => void };
  /** The least level that is written here. */
  readonly level: LogLevel;
  /** "auto" (default): pretty on a terminal, JSON elsewhere. */
  readonly format?: "json" | "pretty" | "auto";
}

/** Where lines go, and what a slow reader costs. */
export interface LoggerOptions {
  /** Stands in each line as "program". */
  readonly program: string;
  readonly outputs: readonly LogOutput[];
  /**
   * True: a reader that does not read costs lines, never time. False (default): writing waits. Beyond 1 MiB of waiting
   * text a line is dropped and counted.
   */
  readonly dropWhenBlocked?: boolean;
}

/** The logger of the process, which owns the outputs. */
export interface RootLogger extends Logger {
  /** Writes what waits, before it returns. */
  flush(): void;
  /** Lines given up because an output was blocked. */
  readonly dropped: number;
  /** Lines of level error and fatal so far. */
  readonly errors: number;
  /** Flushes and closes the files. Nothing may be logged after it. */
  close(): void;
}

/** Throws SERVICE_LOG_FILE when a file cannot be opened. */
export function createLogger(options: LoggerOptions): RootLogger {
  const outputs = options.outputs.map((output) => openOutput(output, options.dropWhenBlocked === true));
  const counts = { errors: 0 };
  const least = LOG_LEVELS.find((level) => options.outputs.some((output) => output.level === level));
  const root = pino(
    {
      level: least ?? "silent",
      base: { program: options.program },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    multistream(
      outputs.map((output, index) => ({ level: options.outputs[index]?.level ?? "info", stream: output.stream })),
    ),
  );
  return {
    ...wrap(root, counts),
    flush: () => outputs.forEach((output) => output.flush()),
    get dropped() {
      return outputs.reduce((sum, output) => sum + output.dropped(), 0);
    },
    get errors() {
      return counts.errors;
    },
    close: () => outputs.forEach((output) => output.close()),
  };
}

/** A logger that writes nothing. */
export const silentLogger: Logger = createLogger({ program: "", outputs: [] });

function wrap(inner: PinoLogger, counts: { errors: number }): Logger {
  const write =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (level === "error" || level === "fatal") counts.errors++;
      if (!inner.isLevelEnabled(level)) return;
      if (fields === undefined) inner[level](message);
      else inner[level](cleanFields(fields), message);
    };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    fatal: write("fatal"),
    child: (fields) => wrap(inner.child(cleanFields(fields)), counts),
    isEnabled: (level) => inner.isLevelEnabled(level),
  };
}

interface OpenOutput {
  readonly stream: DestinationStream;
  flush(): void;
  dropped(): number;
  close(): void;
}

function openOutput(output: LogOutput, dropWhenBlocked: boolean): OpenOutput {
  const { to } = output;
  if (typeof to === "object" && "write" in to) {
    const pretty = output.format === "pretty";
    return {
      stream: { write: (line: string) => to.write(pretty ? prettyLine(line, false) : line) },
      flush: () => {},
      dropped: () => 0,
      close: () => {},
    };
  }
  const fd = to === "stdout" ? 1 : to === "stderr" ? 2 : openLogFile(to.file);
  const terminal = isatty(fd);
  const pretty = output.format === "pretty" || (output.format !== "json" && terminal);
  const sink = new LogSink({ fd, isAsync: dropWhenBlocked });
  return {
    stream: { write: (line: string) => sink.write(pretty ? prettyLine(line, terminal) : line) },
    flush: () => sink.flush(),
    dropped: () => sink.dropped,
    close: () => sink.close(),
  };
}

function openLogFile(path: string): number {
  try {
    return openSync(path, "a", 0o640);
  } catch (error) {
    throw new ServiceError(`Open log file "${path}": ${messageOf(error)}`, {
      code: "SERVICE_LOG_FILE",
      op: "Open log file",
      cause: error,
      data: { path },
    });
  }
}
