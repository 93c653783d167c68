import {
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
  Summary as PromSummary,
} from "prom-client";
import { assert } from "@bulrush/base";
import type {
  BucketOptions,
  Counter,
  Family,
  Gauge,
  LabelledOptions,
  MetricOptions,
  Metrics,
  Observer,
  QuantileOptions,
  Sample,
} from "./metrics.ts";
import { mergeSamples, type MetricsSample, type SampledMetric } from "./sample.ts";

/** As the client libraries of upstream have it. */
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const DEFAULT_QUANTILES = [0.5, 0.9, 0.99];
/** Quantiles look back 10 minutes, in slices of 2. */
const SUMMARY_WINDOW = { maxAgeSeconds: 600, ageBuckets: 5 };

/** What all prom-client metrics share, as far as families need it. */
interface PromMetric<Child, L extends string> {
  labels(labels: Partial<Record<L, string | number>>): Child;
  remove(labels: Partial<Record<L, string | number>>): void;
  reset(): void;
}

/** A registry of its own, on prom-client. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const samples: (() => readonly MetricsSample[])[] = [];
  const common = (options: MetricOptions) => {
    assert(registry.getSingleMetric(options.name) === undefined, () => `Metric ${options.name} is made twice`);
    return { name: options.name, help: options.help, registers: [registry] };
  };
  const labelled = <L extends string>(options: LabelledOptions<L>) => ({
    ...common(options),
    labelNames: [...options.labels],
  });
  const quantiles = (options: QuantileOptions) => ({
    percentiles: [...(options.quantiles ?? DEFAULT_QUANTILES)],
    ...SUMMARY_WINDOW,
    pruneAgedBuckets: false,
  });
  const buckets = (options: BucketOptions) => ({ buckets: [...(options.buckets ?? DEFAULT_BUCKETS)] });

  return {
    counter: (options) => counter(new PromCounter(common(options))),
    counterFamily: (options) => family(new PromCounter(labelled(options)), counter),
    counterFrom(options, read) {
      const metric: PromCounter = new PromCounter({
        ...common(options),
        collect: () => {
          metric.reset();
          metric.inc(read());
        },
      });
    },
    gauge: (options) => gauge(new PromGauge(common(options))),
    gaugeFrom(options, read) {
      const metric: PromGauge = new PromGauge({ ...common(options), collect: () => metric.set(read()) });
    },
    gaugeFamily: (options) => family(new PromGauge(labelled(options)), gauge),
    counterFamilyFrom<L extends string>(options: LabelledOptions<L>, read: () => Iterable<Sample<L>>) {
      const metric: PromCounter<L> = new PromCounter<L>({
        ...labelled(options),
        collect: () => {
          metric.reset();
          for (const [labels, value] of read()) metric.labels(labels).inc(value);
        },
      });
    },
    gaugeFamilyFrom<L extends string>(options: LabelledOptions<L>, read: () => Iterable<Sample<L>>) {
      const metric: PromGauge<L> = new PromGauge<L>({
        ...labelled(options),
        collect: () => {
          metric.reset();
          for (const [labels, value] of read()) metric.labels(labels).set(value);
        },
      });
    },
    summary: (options) => observer(new PromSummary({ ...common(options), ...quantiles(options) })),
    summaryFamily: (options) => family(new PromSummary({ ...labelled(options), ...quantiles(options) }), observer),
    histogram: (options) => observer(new PromHistogram({ ...common(options), ...buckets(options) })),
    histogramFamily: (options) => family(new PromHistogram({ ...labelled(options), ...buckets(options) }), observer),
    async text() {
      const others = samples.flatMap((read) => read());
      return others.length === 0 ? registry.metrics() : format(mergeSamples([await sampleOf(registry), ...others]));
    },
    sample: () => sampleOf(registry),
    addSamples: (read) => void samples.push(read),
    contentType: registry.contentType,
  };
}

async function sampleOf(registry: Registry): Promise<MetricsSample> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map(({ name, help, type, values }) => ({
    name,
    help,
    type: String(type) as SampledMetric["type"],
    // A copy: the library goes on with its own.
    values: values.map((value) => ({
      name: "metricName" in value ? String(value.metricName) : undefined,
      labels: Object.fromEntries(
        Object.entries(value.labels).flatMap(([label, text]) => (text === undefined ? [] : [[label, text]])),
      ),
      value: value.value,
    })),
  }));
}

function format(sample: MetricsSample): Promise<string> {
  const registry = new Registry();
  for (const metric of sample) {
    const { name, help, type } = metric;
    const values = metric.values.map(({ name: metricName = name, labels, value }) => ({ metricName, labels, value }));
    // The library asks for no more than this when it writes its page.
    const shown = { name, help, type, get: () => Promise.resolve({ name, help, type, values, aggregator: "sum" }) };
    registry.registerMetric(shown as unknown as PromGauge);
  }
  return registry.metrics();
}

function counter(metric: { inc(by: number): void }): Counter {
  return { inc: (by = 1) => metric.inc(by) };
}

function gauge(metric: { set(value: number): void; inc(by: number): void }): Gauge {
  return { set: (value) => metric.set(value), add: (by = 1) => metric.inc(by) };
}

function observer(metric: { observe(value: number): void }): Observer {
  return { observe: (value) => metric.observe(value) };
}

function family<PromChild, Child, L extends string>(
  metric: PromMetric<PromChild, L>,
  wrap: (child: PromChild) => Child,
): Family<Child, L> {
  return {
    with: (labels) => wrap(metric.labels(labels)),
    remove: (labels) => metric.remove(labels),
    reset: () => metric.reset(),
  };
}
