/** One figure, as `npm run bench` prints it. */
export interface Row {
  readonly bench: string;
  /** Sizes. */
  readonly case: Readonly<Record<string, number | string>>;
  readonly metric: string;
  readonly value: number;
  readonly unit: string;
  /** The same work by the system's own tool, in the same run. */
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
  /** How many times as long as the reference's this machine takes. */
  readonly scale: number;
  readonly print: (row: Row) => void;
}

export interface Spent {
  readonly wallMs: number;
  /** Of this process, with the kernel's share. */
  readonly cpuMs: number;
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function digits(value: number): number {
  return Number(value.toPrecision(4));
}

export async function spent(work: () => Promise<void> | void): Promise<Spent> {
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  await work();
  const wallMs = performance.now() - startMs;
  const { system, user } = process.cpuUsage(cpu);
  return { wallMs, cpuMs: (system + user) / 1000 };
}
