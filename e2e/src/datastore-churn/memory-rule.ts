/** Memory of a process after a full garbage collection, bytes. */
export interface MemorySample {
  /** V8's heap and what it holds outside of it (buffers). */
  readonly heapBytes: number;
  /** Resident set. */
  readonly rssBytes: number;
}

/** What may come on top without a leak: caches that fill, fragments. */
const HEAP_SLACK = { share: 0.1, bytes: 8 << 20 };
/** The resident set also has what the allocator keeps for later: the peak of a list. */
const RSS_SLACK = { share: 0.25, bytes: 48 << 20 };

/**
 * Undefined if memory is flat: the median of the last third of the samples is not above that of the first third by more
 * than 10 % and 8 MiB for the heap, 25 % and 48 MiB for the resident set. Otherwise, in words, what grew.
 *
 * @param samples In order, at least two, all of them at rest with about the same contents.
 */
export function memoryGrowth(samples: readonly MemorySample[]): string | undefined {
  const third = Math.max(1, Math.floor(samples.length / 3));
  for (const [field, slack] of [
    ["heapBytes", HEAP_SLACK],
    ["rssBytes", RSS_SLACK],
  ] as const) {
    const first = median(samples.slice(0, third).map((sample) => sample[field]));
    const last = median(samples.slice(-third).map((sample) => sample[field]));
    if (last > first * (1 + slack.share) + slack.bytes) return `${field} grew from ${first} to ${last}`;
  }
  return undefined;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
