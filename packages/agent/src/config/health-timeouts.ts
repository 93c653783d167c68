import { parseDurationNs } from "@bulrush/base";
import type { FelixConfig } from "./felix-config.ts";

const MIN_WATCHDOG_MS = 20_000;

/**
 * Time-outs of health reporters by name, in milliseconds. HealthTimeoutOverrides has durations (`1m30s`) or seconds
 * (`90`); bad ones are left out: a time-out that cannot be read must not become none.
 */
export function healthTimeoutsMs(
  values: Pick<FelixConfig, "DataplaneWatchdogTimeout" | "HealthTimeoutOverrides">,
): ReadonlyMap<string, number> {
  const watchdogMs = Math.max(MIN_WATCHDOG_MS, values.DataplaneWatchdogTimeout * 1000);
  const overrides = [...values.HealthTimeoutOverrides].map(
    ([name, text]) => [name, (parseDurationNs(/^[0-9.]+$/.test(text) ? `${text}s` : text) ?? 0) / 1e6] as const,
  );
  return new Map([
    ["InternalDataplaneMainLoop", watchdogMs],
    ...overrides.filter(([, milliseconds]) => milliseconds > 0),
  ]);
}
