import type { BenchRow } from "@bulrush/typha/bench";

export type { BenchRow };

interface BenchOptions {
  readonly quick: boolean;
  readonly progress: (text: string) => void;
}

export interface Bench {
  readonly name: string;
  readonly summary: string;
  /** Hands out rows as they come. */
  run(options: BenchOptions, print: (row: BenchRow) => void): Promise<void>;
}
