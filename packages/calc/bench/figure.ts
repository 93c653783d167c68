/** One thing that a case measured. */
export interface Figure {
  /** What was measured; figures of one name, of several runs, are taken together. */
  readonly metric: string;
  readonly value: number;
  readonly unit: "ms" | "us" | "ns" | "MB";
  /** The reference system's, on the machine of its figures; times are to be scaled. */
  readonly reference?: number;
  /** Bounds value / reference, or the value where there is no reference. */
  readonly limit?: number;
}

/** A case of the bench: to be run in a process of its own, for a true heap and nobody beside it. */
export interface CalcCase {
  readonly name: string;
  readonly size: Readonly<Record<string, number>>;
  /** Part of the short form. */
  readonly quick: boolean;
  /** Runs whose medians count; 1 where a run takes medians itself. */
  readonly runs: number;
  /** Throws when what came out is not what the reference gives. */
  run(): readonly Figure[];
}

/** What the reference figures and limits say of one metric. */
export interface ReferenceFigure {
  readonly reference?: number;
  readonly limit?: number;
}

/** Throws unless the two are equal, or no further apart than `tolerance` of what is expected. */
export function checkOutput(what: string, actual: number, expected: number, tolerance = 0): void {
  if (Math.abs(actual - expected) <= tolerance * expected) return;
  throw new Error(`${what} is ${actual}, the reference gives ${expected}`);
}
