/** One line of a bench's output. */
export interface BenchRow {
  readonly bench: string;
  /** Sizes. */
  readonly case: Readonly<Record<string, number | string>>;
  readonly metric: string;
  readonly value: number;
  readonly unit: string;
  /** The least that anything could reach here, measured in the same run. */
  readonly floor?: number;
  /** What the reference system needs, scaled to this machine. */
  readonly reference?: number;
  /** value / reference, or value / floor where there is no reference. */
  readonly ratio?: number;
  /** Bound of the ratio if there is one, else of the value. */
  readonly limit?: number;
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
