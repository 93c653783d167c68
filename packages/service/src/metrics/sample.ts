/** A metric of another thread at one moment, as plain data that a message can carry. */
export interface SampledMetric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly values: readonly SampledValue[];
}

interface SampledValue {
  /** Where it is not the metric's: `..._sum`, `..._count`, `..._bucket`. */
  readonly name?: string | undefined;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** All metrics of a registry. */
export type MetricsSample = readonly SampledMetric[];

/**
 * Several registries as one: values are summed, and of quantiles the highest stands for all (those of a whole cannot be
 * had from those of its parts). In the order of the first.
 */
export function mergeSamples(samples: readonly MetricsSample[]): MetricsSample {
  const byName = new Map<string, { readonly metric: SampledMetric; readonly values: Map<string, SampledValue> }>();
  for (const metric of samples.flat()) {
    let entry = byName.get(metric.name);
    if (entry === undefined) byName.set(metric.name, (entry = { metric, values: new Map() }));
    for (const value of metric.values) {
      const key = keyOf(value);
      const before = entry.values.get(key);
      entry.values.set(key, before === undefined ? value : { ...value, value: joined(before, value) });
    }
  }
  return [...byName.values()].map(({ metric, values }) => ({ ...metric, values: [...values.values()] }));
}

/** What stays of a registry that is gone: what only grows. Without it counters of the whole would fall. */
export function lastingSample(sample: MetricsSample): MetricsSample {
  return sample.flatMap((metric) => {
    if (metric.type === "gauge") return [];
    return { ...metric, values: metric.values.filter((value) => !isQuantile(value)) };
  });
}

function joined(a: SampledValue, b: SampledValue): number {
  return isQuantile(a) ? Math.max(a.value, b.value) : a.value + b.value;
}

function isQuantile({ labels }: SampledValue): boolean {
  return "quantile" in labels;
}

function keyOf({ name = "", labels }: SampledValue): string {
  const parts = Object.entries(labels).map(([label, value]) => JSON.stringify([label, value]));
  return `${name}${parts.toSorted().join("")}`;
}
