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

export interface BenchOptions {
  readonly quick: boolean;
  readonly progress: (text: string) => void;
}

export interface Bench {
  readonly name: string;
  readonly summary: string;
  /** Hands out rows as they come. */
  run(options: BenchOptions, print: (row: BenchRow) => void): Promise<void>;
}
