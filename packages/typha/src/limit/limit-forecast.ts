import { type ConnectionLimit, connectionLimit, type LimitInputs } from "./connection-limit.ts";

/** Something that an operator should know before rolling a setting out. */
export interface LimitWarning {
  readonly code: LimitWarningCode;
  /** One sentence, with the numbers. */
  readonly message: string;
}

/** Match on it, not on messages. */
export type LimitWarningCode =
  /** One server may hold everything and is within the limit. */
  | "never-balances"
  /** Streams in good health would be ended, and have nowhere to go. */
  | "drops-healthy"
  /** The same, as soon as one server is away. */
  | "drops-healthy-without-one"
  /** More connections than all servers take. */
  | "rejects"
  | "no-nodes"
  /** The lower limit is above the upper one, and counts for nothing. */
  | "lower-above-upper";

/** What a limit means for a fleet. */
export interface LimitForecast extends ConnectionLimit {
  /** All connections of the fleet. */
  readonly connections: number;
  /** Connections of a server when all have the same; undefined without servers. */
  readonly mean: number | undefined;
  /** How many times the mean a server may have; undefined without connections or servers. */
  readonly ratio: number | undefined;
  readonly warnings: readonly LimitWarning[];
}

/** A fleet, as it is or as it is planned: nothing is unknown. */
export interface ForecastInputs extends LimitInputs {
  readonly typhas: number;
  readonly nodes: number;
  /** Connections that there are in truth, of all nodes. Default: what the basis takes for granted. */
  readonly connections?: number;
}

/**
 * Works the limit out, as a server does, and says what would come of it without levelling: with it, servers even out
 * below the limit too, but nothing takes the place of room that is not there.
 */
export function forecastLimit(inputs: ForecastInputs): LimitForecast {
  const { typhas, nodes, basis } = inputs;
  const assumed = basis.type === "formula" ? basis.syncerTypes * nodes : (basis.connections ?? 0);
  const connections = inputs.connections ?? assumed;
  const result = connectionLimit(inputs);
  const mean = typhas > 0 ? connections / typhas : undefined;
  return {
    ...result,
    connections,
    mean,
    ratio: mean === undefined || mean === 0 ? undefined : result.limit / mean,
    warnings: warningsOf(inputs, result.limit, connections),
  };
}

function warningsOf(inputs: ForecastInputs, limit: number, connections: number): readonly LimitWarning[] {
  const { typhas, nodes, lower, upper } = inputs;
  const warnings: LimitWarning[] = [];
  const warn = (code: LimitWarningCode, message: string): void => void warnings.push({ code, message });
  if (nodes === 0) warn("no-nodes", "There are no nodes: the servers may not be allowed to list them");
  if (lower > upper) warn("lower-above-upper", `The lower limit of ${lower} is above the upper limit of ${upper}`);
  if (connections > typhas * upper) {
    const left = connections - typhas * upper;
    warn("rejects", `${left} of ${connections} connections find no server: ${typhas} servers take ${upper} each`);
  } else if (typhas > 1 && connections > typhas * limit) {
    const mean = Math.ceil(connections / typhas);
    warn(
      "drops-healthy",
      `The limit of ${limit} is below the mean of ${mean}: every server would shed healthy streams`,
    );
  } else if (typhas > 1) {
    const without = connectionLimit({ ...inputs, typhas: typhas - 1 }).limit;
    if (connections > (typhas - 1) * without) {
      const mean = Math.ceil(connections / (typhas - 1));
      warn(
        "drops-healthy-without-one",
        `While one server is away the limit is ${without}, below the mean of ${mean} on the ${typhas - 1} others`,
      );
    }
  }
  if (typhas > 1 && connections > 0 && limit >= connections)
    warn("never-balances", `One server may hold all ${connections} connections and is within the limit of ${limit}`);
  return warnings;
}
