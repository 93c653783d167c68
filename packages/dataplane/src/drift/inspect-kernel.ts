import { messageOf } from "@bulrush/base";
import { type DriftItem, type DriftRepair, type DriftReport, MAX_DRIFT_ITEMS } from "./drift-report.ts";

export interface Inspection {
  readonly pending: boolean;
  readonly repairs: readonly DriftRepair[];
  /** By what they are about. One that throws is named as not read; the others count. */
  readonly parts: Readonly<Record<string, () => readonly DriftItem[]>>;
}

/** The report of all parts, cut to its bound. */
export function inspectKernel({ parts, pending, repairs }: Inspection): DriftReport {
  const problems: string[] = [];
  const items: DriftItem[] = [];
  for (const [what, read] of Object.entries(parts))
    try {
      for (const item of read()) items.push(item);
    } catch (error) {
      problems.push(`${what}: ${messageOf(error)}`);
    }
  const differences = items.slice(0, MAX_DRIFT_ITEMS);
  return { ready: true, pending, differences, more: items.length - differences.length, problems, repairs };
}

/** Of a dataplane that has nothing to compare with, or has stopped. */
export function notReady(repairs: readonly DriftRepair[] = []): DriftReport {
  return { ready: false, pending: false, differences: [], more: 0, problems: [], repairs };
}
