import type { LogRateLimit } from "./dataplane-config.ts";
import type { Field } from "./field.ts";

const MAX_RATE = 9999;

/** Reads `N/second`, `N/minute`, `N/hour` or `N/day`, N from 1 to 9999. */
export function readLogRate(text: string): Field<LogRateLimit> {
  const parts = /^([0-9]{1,4})\/(second|minute|hour|day)$/.exec(text.toLowerCase());
  const rate = Number(parts?.[1] ?? 0);
  if (parts === null || rate < 1 || rate > MAX_RATE)
    return { problem: `is not a number from 1 to ${MAX_RATE} with /second, /minute, /hour or /day` };
  return { value: { rate, unit: parts[2] as LogRateLimit["unit"] } };
}
