import { readFileSync } from "node:fs";
import { measureIsolatedCustomers } from "./isolated-customers.ts";
import type { LoadResult, Outputs } from "./measure.ts";
import { measureSnapshot, type SnapshotSize } from "./snapshot.ts";

export { measureIsolatedCustomers } from "./isolated-customers.ts";
export type { LoadResult, Outputs } from "./measure.ts";
export { measureSnapshot, type SnapshotSize } from "./snapshot.ts";

/** Figures of the reference system, with where they come from. */
export interface CalcReference {
  readonly provenance: string;
  /** CPU of the calibration task `objects` on the machine of the figures. */
  readonly calibrationObjectsMs: number;
  readonly snapshots: readonly (ReferenceFigures & {
    readonly name: string;
    readonly size: SnapshotSize;
    readonly outputs: Outputs;
  })[];
  readonly isolatedCustomers: readonly (ReferenceFigures & { readonly customers: number })[];
}

export interface ReferenceFigures {
  readonly cpuMs: number;
  readonly heapMB: number;
  /** How much of the reference's figure ours may be. */
  readonly limits?: { readonly cpu?: number; readonly heap?: number };
}

export function calcReference(): CalcReference {
  return JSON.parse(readFileSync(new URL("reference.json", import.meta.url), "utf8")) as CalcReference;
}

/** A load to run: its result, and what the reference says of it. Run each in a process of its own for a true heap. */
export interface CalcLoad {
  readonly name: string;
  readonly size: Readonly<Record<string, number>>;
  readonly reference: ReferenceFigures;
  readonly expectedOutputs: Outputs;
  /** Throws when what came out is not what the reference gives. */
  run(): LoadResult;
}

/** All loads, smallest first in each family. */
export function calcLoads(): CalcLoad[] {
  const reference = calcReference();
  const snapshots = reference.snapshots.map((figures) =>
    makeLoad(figures.name, { ...figures.size }, figures, figures.outputs, () => measureSnapshot(figures.size)),
  );
  const isolated = reference.isolatedCustomers.map((figures) => {
    const { customers } = figures;
    return makeLoad(
      `isolated-customers-${customers / 1000}k`,
      { customers },
      figures,
      {
        ipSets: 100,
        members: 100,
        policies: 100,
        rules: 300,
        endpoints: 100,
        ingressEntries: 100,
        egressEntries: 100,
        profiles: 100,
        namespaces: customers,
      },
      () => measureIsolatedCustomers(customers),
    );
  });
  return [...snapshots, ...isolated];
}

function makeLoad(
  name: string,
  size: Readonly<Record<string, number>>,
  reference: ReferenceFigures,
  expectedOutputs: Outputs,
  measure: () => LoadResult,
): CalcLoad {
  return {
    name,
    size,
    reference,
    expectedOutputs,
    run() {
      const result = measure();
      for (const [field, expected] of Object.entries(expectedOutputs)) {
        const actual = result.outputs[field as keyof Outputs];
        if (actual !== expected) throw new Error(`${name}: ${field} is ${actual}, the reference gives ${expected}`);
      }
      return result;
    },
  };
}
