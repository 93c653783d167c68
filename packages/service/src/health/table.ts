/** One line of the table. Undefined where the reporter does not answer for it. */
export interface HealthRow {
  readonly name: string;
  readonly timeoutMs: number;
  readonly live: boolean | undefined;
  readonly ready: boolean | undefined;
  /** How long ago the last report was, when that is too long. */
  readonly overdueMs: number | undefined;
  readonly detail: string;
}

const HEADER = ["COMPONENT", "TIMEOUT", "LIVENESS", "READINESS", "DETAIL"] as const;

/** The reporters as a plain text table with aligned columns; "" for none. */
export function renderHealthTable(rows: readonly HealthRow[]): string {
  if (rows.length === 0) return "";
  const cells = rows.map((row) => [
    row.name,
    row.timeoutMs === 0 ? "-" : `${row.timeoutMs / 1000}s`,
    word(row.live, "live", "NOT LIVE", row),
    word(row.ready, "ready", "NOT READY", row),
    row.detail.replaceAll(/\s+/g, " ") || "-",
  ]);
  const table = [[...HEADER], ...cells];
  const widths = HEADER.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)));
  return table
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function word(state: boolean | undefined, good: string, bad: string, row: HealthRow): string {
  if (state === undefined) return "-";
  if (state) return good;
  return row.overdueMs === undefined ? bad : `${bad} (last report ${Math.round(row.overdueMs / 1000)}s ago)`;
}
