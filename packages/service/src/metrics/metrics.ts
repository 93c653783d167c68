import type { MetricsSample } from "./sample.ts";

/** Only grows. */
export interface Counter {
  /** Adds `by`, 1 by default; never negative. */
  inc(by?: number): void;
}

/** A number that goes up and down. Starts at 0. */
export interface Gauge {
  set(value: number): void;
  /** Adds `by`, 1 by default; negative to shrink. */
  add(by?: number): void;
}

/** A summary (quantiles over the last 10 minutes) or a histogram (buckets). Times are in seconds. */
export interface Observer {
  observe(value: number): void;
}

/** A metric with labels: one child per combination of label values. Keep the child where it is used often. */
export interface Family<Child, Label extends string> {
  /** The child of these values, made when there is none yet. All labels must be given. */
  with(labels: Readonly<Record<Label, string>>): Child;
  /** Forgets one child, so that a gone object leaves the page. Unknown labels: nothing happens. */
  remove(labels: Readonly<Record<Label, string>>): void;
  /** Forgets all children. */
  reset(): void;
}

/** Name and meaning, as the page shows them. */
export interface MetricOptions {
  /** Prometheus name: `typha_*` and `felix_*` as upstream has them, `bulrush_*` for new ones. */
  readonly name: string;
  readonly help: string;
}

/** The labels of a family. Their values must be few: each combination is a line of the page. */
export interface LabelledOptions<Label extends string> extends MetricOptions {
  readonly labels: readonly Label[];
}

/** Each between 0 and 1. */
export interface QuantileOptions {
  /** Default 0.5, 0.9, 0.99. */
  readonly quantiles?: readonly number[];
}

/** In the unit of the metric: seconds for a time. */
export interface BucketOptions {
  /** Upper bounds, growing. Default: 0.005 to 10 seconds. */
  readonly buckets?: readonly number[];
}

/** One child of a family: its labels and its value. */
export type Sample<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number];

/**
 * The metrics of one process. Each name may be made once; a second time is a bug. Everybody gets the registry as an
 * argument, so that tests have their own.
 */
export interface Metrics {
  counter(options: MetricOptions): Counter;
  counterFamily<L extends string>(options: LabelledOptions<L>): Family<Counter, L>;
  /** A counter that is kept elsewhere and read when the page is made. Must be quick, never shrink and not throw. */
  counterFrom(options: MetricOptions, read: () => number): void;
  gauge(options: MetricOptions): Gauge;
  /** A gauge whose value is read when the page is made. Must be quick and must not throw. */
  gaugeFrom(options: MetricOptions, read: () => number): void;
  gaugeFamily<L extends string>(options: LabelledOptions<L>): Family<Gauge, L>;
  /** A family that is kept elsewhere: `read` gives all children when the page is made. */
  counterFamilyFrom<L extends string>(options: LabelledOptions<L>, read: () => Iterable<Sample<L>>): void;
  gaugeFamilyFrom<L extends string>(options: LabelledOptions<L>, read: () => Iterable<Sample<L>>): void;
  /** Quantiles over the last 10 minutes. */
  summary(options: MetricOptions & QuantileOptions): Observer;
  summaryFamily<L extends string>(options: LabelledOptions<L> & QuantileOptions): Family<Observer, L>;
  /** Buckets, since the start. */
  histogram(options: MetricOptions & BucketOptions): Observer;
  histogramFamily<L extends string>(options: LabelledOptions<L> & BucketOptions): Family<Observer, L>;
  /** The page in Prometheus text format, with what `addSamples` gives. */
  text(): Promise<string>;
  /** All values of this registry, to be shown by one in another thread. */
  sample(): Promise<MetricsSample>;
  /** The page shows these samples too (see `mergeSamples`); read when it is made. Must be quick and must not throw. */
  addSamples(read: () => readonly MetricsSample[]): void;
  /** Of the page, for the HTTP header. */
  readonly contentType: string;
}
