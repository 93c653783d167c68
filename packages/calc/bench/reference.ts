import { readFileSync } from "node:fs";
import type { ReferenceFigure } from "./figure.ts";
import type { Outputs } from "./outputs.ts";
import type { SnapshotSize } from "./snapshot.ts";

export interface LoadFigures {
  readonly cpu: ReferenceFigure;
  readonly heap: ReferenceFigure;
}

/** Figures of the reference system, with where they come from. */
export interface CalcReference {
  readonly provenance: string;
  /** CPU of the calibration task `objects` on the machine of the figures. */
  readonly calibrationObjectsMs: number;
  readonly snapshots: readonly (LoadFigures & {
    readonly name: string;
    readonly size: SnapshotSize;
    readonly outputs: Partial<Outputs>;
  })[];
  readonly isolatedCustomers: readonly (LoadFigures & { readonly customers: number })[];
  readonly kubernetes: LoadFigures & { readonly provenance: string };
  readonly resident: ReferenceFigure;
  /** Microseconds an update, by name of the operation. */
  readonly tagSteadyState: Readonly<Record<string, ReferenceFigure>>;
  readonly customerSteadyState: Readonly<Record<string, ReferenceFigure>>;
  readonly selector: { readonly parse: ReferenceFigure; readonly evaluate: ReferenceFigure };
}

/** Reads reference.json beside this file, each time anew. */
export function calcReference(): CalcReference {
  return JSON.parse(readFileSync(new URL("reference.json", import.meta.url), "utf8")) as CalcReference;
}
