import type { TyphaBenchOptions } from "./fan-out.ts";
import { runPair, scaled } from "./processes.ts";
import { reference } from "./reference.ts";
import { type BenchRow, round } from "./row.ts";

/** What the clients report. */
export interface PropagationFigures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** CPU of the server, in per cent of a core. */
  readonly corePercent: number;
  /** Above 1 where the server brought several ticks in one message. */
  readonly kvsPerMessage: number;
}

const KEYS = 10_000;
const CLIENTS = 1000;
const SECONDS = 20;
const QUICK_SECONDS = 5;

/** Bounds: ratios to the reference, but where that one is saturated. */
const RATES = [
  { perSecond: 10, p50: 0.6, p99: 0.4, saturated: false },
  { perSecond: 25, p50: 0.6, p99: 0.4, saturated: false },
  { perSecond: 100, p50: 25, p99: 50, saturated: true },
] as const;
const SATURATED_CORE_PERCENT = 70;

/**
 * From a publish to the last of 1,000 clients, one key at a time at a steady rate; the server on core 0, the clients on
 * core 1, mutual TLS. Where the reference is saturated the bounds are of our own value, in ms.
 */
export async function* benchPropagation(options: TyphaBenchOptions = {}): AsyncGenerator<BenchRow> {
  const seconds = options.quick === true ? QUICK_SECONDS : SECONDS;
  for (const rate of RATES) {
    const { perSecond } = rate;
    const args = [CLIENTS, perSecond, perSecond * seconds];
    const { scale, result } = await scaled(() =>
      runPair<PropagationFigures>({ keys: KEYS, perTick: 1, clients: "propagation-clients.ts", args }),
    );
    const common = { bench: "propagation", case: { clients: CLIENTS, keys: KEYS, perSecond } };
    for (const [metric, name, limit] of [
      ["p50", "p50Ms", rate.p50],
      ["p99", "p99Ms", rate.p99],
    ] as const) {
      const value = round(result[name], 1);
      const wanted = round(reference("propagation", perSecond, name) * scale, 1);
      const ratio = rate.saturated ? {} : { ratio: round(value / wanted, 3) };
      yield { ...common, metric, value, unit: "ms", reference: wanted, ...ratio, limit };
    }
    yield {
      ...common,
      metric: "server CPU",
      value: round(result.corePercent, 1),
      unit: "% of a core",
      reference: reference("propagation", perSecond, "corePercent"),
      ...(rate.saturated && { limit: SATURATED_CORE_PERCENT }),
    };
    yield { ...common, metric: "KVs in a message", value: round(result.kvsPerMessage, 2), unit: "KVs" };
  }
}
