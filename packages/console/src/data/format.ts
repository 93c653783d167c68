const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** `1.2 MB`, with at most three digits before the point. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** `0 ms` to `950 ms`, `1.2 s`, `5 min`, `3 h`, `2 d`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.floor(ms / 3_600_000)} h`;
  return `${Math.floor(ms / 86_400_000)} d`;
}

/** Thousands apart: `12,345`. */
export function countText(count: number): string {
  return count.toLocaleString("en-US", { maximumFractionDigits: 1 });
}
