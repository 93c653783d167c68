/** Each bucket is this much wider than the one before: a percentile is at most so much too high. */
const GROWTH = 1.02;
const LOG_GROWTH = Math.log(GROWTH);
/** Everything below counts as this. */
const LEAST_MS = 0.1;
/** Buckets for up to a day. */
const BUCKETS = Math.ceil(Math.log(86_400_000 / LEAST_MS) / LOG_GROWTH) + 1;

/** What a histogram is between processes: bucket and count by turns, and the greatest value. */
export interface HistogramData {
  readonly counts: readonly number[];
  readonly max: number;
}

/** Milliseconds, or null where nothing was measured. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

/**
 * Times, in bounded memory however many there are; several can be added up, which percentiles cannot.
 *
 * Invariant: `#counts[i]` values were in bucket i, `#total` in all.
 */
export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS);
  #total = 0;
  #max = 0;

  /** What is below zero (clocks of two hosts) counts as the least. */
  record(ms: number): void {
    const bucket = ms <= LEAST_MS ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log(ms / LEAST_MS) / LOG_GROWTH));
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#total++;
    this.#max = Math.max(this.#max, ms);
  }

  add({ counts, max }: HistogramData): void {
    for (let i = 0; i + 1 < counts.length; i += 2) {
      const bucket = counts[i] as number;
      const count = counts[i + 1] as number;
      this.#counts[bucket] = (this.#counts[bucket] as number) + count;
      this.#total += count;
    }
    this.#max = Math.max(this.#max, max);
  }

  data(): HistogramData {
    const counts: number[] = [];
    for (const [bucket, count] of this.#counts.entries()) if (count > 0) counts.push(bucket, count);
    return { counts, max: this.#max };
  }

  percentiles(): Percentiles {
    if (this.#total === 0) return { count: 0, p50: null, p90: null, p99: null, max: null };
    return {
      count: this.#total,
      p50: this.#percentile(0.5),
      p90: this.#percentile(0.9),
      p99: this.#percentile(0.99),
      max: rounded(this.#max),
    };
  }

  /** The upper end of the bucket that this share of the values is reached in. */
  #percentile(share: number): number {
    let left = Math.ceil(this.#total * share);
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return rounded(Math.min(this.#max, LEAST_MS * GROWTH ** bucket));
    }
    return rounded(this.#max);
  }
}

function rounded(ms: number): number {
  return Math.round(Math.max(0, ms) * 10) / 10;
}
