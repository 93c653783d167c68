/** Samples that are kept. */
const WINDOW = 1024;

/** How long changes took, from the syncer seeing them to clients reporting them in force, in ms; null without samples. */
export interface PropagationView {
  /** Of how many reports, the newest ones. */
  readonly samples: number;
  readonly p50Ms: number | null;
  readonly p90Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number | null;
}

/** The newest propagation times, for people; the histogram among the metrics has all. Invariant: at most 1,024 are kept. */
export class PropagationWindow {
  readonly #samples: number[] = [];
  #next = 0;

  add(ms: number): void {
    this.#samples[this.#next] = ms;
    this.#next = (this.#next + 1) % WINDOW;
  }

  /** In no promised order. */
  samples(): readonly number[] {
    return this.#samples;
  }

  view(): PropagationView {
    return propagationView(this.#samples);
  }
}

export function propagationView(samples: readonly number[]): PropagationView {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number): number | null => {
    const ms = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
    return ms === undefined ? null : Math.round(ms * 10) / 10;
  };
  return { samples: sorted.length, p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99), maxMs: at(1) };
}
