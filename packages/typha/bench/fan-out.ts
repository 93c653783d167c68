import { runPair, scaled } from "./processes.ts";
import { reference } from "./reference.ts";
import { type BenchRow, median, round } from "./row.ts";

export interface TyphaBenchOptions {
  /** Fewer messages and repetitions: the figure is rough. */
  readonly quick?: boolean;
}

interface FanOutCase {
  readonly clients: number;
  readonly perTick: number;
  /** Client-messages in one repetition. */
  readonly messages: number;
  /** Bounds of the ratios to the reference and to the floor. */
  readonly limit: number;
  readonly floorLimit?: number;
  readonly bytesLimit?: number;
}

const KEYS = 10_000;
/** Header, content type and tag of a TLS 1.3 record (RFC 8446 section 5.2): each message is one. */
const TLS_RECORD_BYTES = 22;
const CASES: readonly FanOutCase[] = [
  { clients: 100, perTick: 1, messages: 50_000, limit: 0.55, floorLimit: 1.35, bytesLimit: 0.8 },
  { clients: 500, perTick: 1, messages: 20_000, limit: 0.5, floorLimit: 1.25 },
  { clients: 1000, perTick: 1, messages: 15_000, limit: 0.45, floorLimit: 1.25 },
  { clients: 1000, perTick: 10, messages: 15_000, limit: 0.32, bytesLimit: 0.8 },
  { clients: 1000, perTick: 50, messages: 15_000, limit: 0.18, bytesLimit: 0.8 },
];
/** Ticks of one repetition with a single client, where all that is not per client shows. */
const TICK_COST = { clients: 1, perTick: 50, messages: 2000, limit: 0.5 };

/**
 * Server CPU per client and message in lock-step, mutual TLS, the server on core 0 and the clients on core 1; beside
 * it, from the same run, the floor (one shared buffer of the same size, written raw to as many sockets) and the
 * reference system's figure, scaled to this machine.
 */
export async function* benchFanOut(options: TyphaBenchOptions = {}): AsyncGenerator<BenchRow> {
  const quick = options.quick === true;
  for (const each of CASES) yield* await runCase(each, quick);
  yield await runTickCost(quick);
}

async function runCase(each: FanOutCase, quick: boolean): Promise<BenchRow[]> {
  const { clients, perTick, floorLimit, bytesLimit } = each;
  const ticks = Math.ceil((quick ? each.messages / 5 : each.messages) / clients);
  const { scale, result } = await scaled(() => measure(clients, perTick, ticks, quick ? 3 : 5));
  const value = round(median(result.ours), 2);
  const floor = round(median(result.floor), 2);
  const wanted = round(reference("fanOutMicroseconds", clients, perTick) * scale, 2);
  const common = {
    bench: "fanout",
    case: { clients, perTick, keys: KEYS },
    unit: "us CPU per client x message",
    value,
    floor,
  };
  const ratio = round(value / wanted, 3);
  const rows: BenchRow[] = [{ ...common, metric: "server CPU", reference: wanted, ratio, limit: each.limit }];
  if (floorLimit !== undefined) {
    const metric = "server CPU against the floor";
    rows.push({ ...common, metric, ratio: round(value / floor, 3), limit: floorLimit });
  }
  if (bytesLimit === undefined) return rows;
  const bytes = result.bytes + TLS_RECORD_BYTES;
  const wantedBytes = reference("bytesPerMessage", perTick);
  rows.push({
    bench: "fanout",
    case: common.case,
    metric: "bytes",
    value: round(bytes, 0),
    unit: "bytes per client x message",
    reference: wantedBytes,
    ratio: round(bytes / wantedBytes, 3),
    limit: bytesLimit,
  });
  return rows;
}

async function runTickCost(quick: boolean): Promise<BenchRow> {
  const { clients, perTick, messages, limit } = TICK_COST;
  const { scale, result } = await scaled(() =>
    measure(clients, perTick, quick ? messages / 5 : messages, quick ? 3 : 5),
  );
  const value = round(median(result.ours), 1);
  const wanted = round(reference("tickMicroseconds", perTick) * scale, 1);
  return {
    bench: "fanout",
    case: { clients, perTick, keys: KEYS },
    metric: "fixed cost of a tick",
    value,
    unit: "us CPU per tick",
    reference: wanted,
    ratio: round(value / wanted, 3),
    limit,
  };
}

interface Measured {
  readonly ours: readonly number[];
  readonly floor: readonly number[];
  readonly bytes: number;
}

function measure(clients: number, perTick: number, ticks: number, repetitions: number): Promise<Measured> {
  return runPair({ keys: KEYS, perTick, clients: "fan-out-clients.ts", args: [clients, ticks, repetitions] });
}
