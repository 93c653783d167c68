import { isSecretName, REDACTED } from "../redact.ts";
import type { LogFields } from "./logger.ts";

const MAX_DEPTH = 5;
const MAX_ITEMS = 100;

/**
 * Fields as plain JSON data: errors with message, code and stack, Maps as objects, Sets as arrays, secrets redacted by
 * their name, everything bounded in depth and number. Never throws, also not on cycles.
 */
export function cleanFields(fields: LogFields): Record<string, unknown> {
  return cleanEntries(Object.entries(fields), 0);
}

function cleanEntries(entries: Iterable<[unknown, unknown]>, depth: number): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  let count = 0;
  for (const [key, value] of entries) {
    if (value === undefined) continue;
    if (++count > MAX_ITEMS) {
      out["..."] = "more";
      break;
    }
    const name = String(key);
    out[name] = isSecretName(name) ? REDACTED : clean(value, depth + 1);
  }
  return out;
}

function clean(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "bigint":
      return String(value);
    case "function":
    case "symbol":
      return `(${typeof value})`;
    case "object":
      break;
    default:
      return value;
  }
  if (value === null) return null;
  if (depth > MAX_DEPTH) return "(deeper)";
  if (value instanceof Error) return cleanError(value, depth);
  if (value instanceof Map) return cleanEntries(value, depth);
  if (value instanceof Set || Array.isArray(value)) {
    const items = [...(value as Iterable<unknown>)];
    const shown = items.slice(0, MAX_ITEMS).map((item) => clean(item, depth + 1));
    return items.length > MAX_ITEMS ? [...shown, `... ${items.length - MAX_ITEMS} more`] : shown;
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid date" : value.toISOString();
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`;
  return cleanEntries(Object.entries(value), depth);
}

function cleanError(error: Error, depth: number): Record<string, unknown> {
  const { code, op, data } = error as { code?: unknown; op?: unknown; data?: unknown };
  return cleanEntries(
    Object.entries({
      name: error.name,
      message: error.message,
      code,
      op,
      data,
      cause: error.cause,
      stack: error.stack,
    }),
    depth,
  );
}
