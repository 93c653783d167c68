import { styleText } from "node:util";
import type { LogLevel } from "./logger.ts";

const LEVEL_STYLE: Readonly<Record<LogLevel, Parameters<typeof styleText>[0]>> = {
  debug: "gray",
  info: "green",
  warn: "yellow",
  error: "red",
  fatal: ["bold", "red"],
};

interface Line {
  readonly level: LogLevel;
  readonly time: string;
  readonly msg?: string;
  readonly [field: string]: unknown;
}

/**
 * A JSON log line for human eyes: time of day, level, message, `name=value` pairs; an error's stack in lines of its
 * own. A line that is no JSON object comes back as it is.
 */
export function prettyLine(json: string, colours: boolean): string {
  let line: Line;
  try {
    line = JSON.parse(json) as Line;
  } catch {
    return json;
  }
  const { level, time, msg, ...fields } = line;
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    colours ? styleText(style, text, { validateStream: false }) : text;
  const stacks: string[] = [];
  const pairs = Object.entries(fields).map(([name, value]) => {
    if (isErrorRecord(value)) {
      if (value.stack !== undefined) stacks.push(value.stack);
      return `${paint("dim", `${name}=`)}${quote(value.message)}`;
    }
    return `${paint("dim", `${name}=`)}${quote(value)}`;
  });
  const head = `${paint("dim", time.slice(11, 23))} ${paint(LEVEL_STYLE[level], level.toUpperCase().padEnd(5))} ${msg ?? ""}`;
  const stackText =
    level === "error" || level === "fatal"
      ? stacks.map((stack) => `\n  ${stack.replaceAll("\n", "\n  ")}`).join("")
      : "";
  return `${[head, ...pairs].join(" ")}${stackText}\n`;
}

function isErrorRecord(value: unknown): value is { readonly message: string; readonly stack?: string } {
  return value !== null && typeof value === "object" && "message" in value && "name" in value;
}

function quote(value: unknown): string {
  if (typeof value === "string") return /^[^\s="]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value);
}
