/** What the limit is worked out from. Counts are whole numbers that are not negative; undefined: not known. */
export interface LimitInputs {
  /** Ready servers, this one included. */
  readonly typhas: number | undefined;
  readonly nodes: number | undefined;
  /** How many streams a node has. */
  readonly basis: LimitBasis;
  /** Both at least 1. */
  readonly lower: number;
  readonly upper: number;
}

/** How many streams a node is taken to have. */
export type LimitBasis =
  /** Every node follows each of the streams that are served. */
  | { readonly type: "formula"; readonly syncerTypes: number }
  /** What all servers together have at the moment; undefined: one of them did not say. */
  | { readonly type: "observed"; readonly connections: number | undefined };

export type LimitReason =
  | "lone typha"
  | "fraction+20%"
  | "configured lower limit"
  | "configured upper limit"
  /** Something could not be counted: the limit never goes down for that. */
  | "error";

/** How many streams a server may have before it hands some over, and why so many. */
export interface ConnectionLimit {
  readonly limit: number;
  readonly reason: LimitReason;
}

/** Out of 10: what a server may have of its share of the nodes when one server is away. */
const TENTHS = 12;

/**
 * How many connections one server may have before it hands some over: its share of the nodes when one server is away,
 * and a fifth more, for each stream that a node follows; between the lower and the upper limit. The upper one wins over
 * the lower.
 *
 * ```
 *   streams * (1 + floor(1.2 * nodes / (typhas - 1)))
 * ```
 * A lone server has nobody to hand over to: the upper limit.
 */
export function connectionLimit({ typhas, nodes, basis, lower, upper }: LimitInputs): ConnectionLimit {
  if (typhas === undefined || nodes === undefined) return { limit: upper, reason: "error" };
  if (basis.type === "observed" && basis.connections === undefined) return { limit: upper, reason: "error" };
  if (typhas <= 1) return { limit: upper, reason: "lone typha" };
  const candidate = streamsFor(basis, nodes, typhas - 1);
  const [limit, reason]: readonly [number, LimitReason] =
    candidate > lower ? [candidate, "fraction+20%"] : [lower, "configured lower limit"];
  return limit > upper ? { limit: upper, reason: "configured upper limit" } : { limit, reason };
}

function streamsFor(basis: LimitBasis, nodes: number, others: number): number {
  const share = (count: number): number => Math.floor((TENTHS * count) / (10 * others));
  if (basis.type === "formula") return basis.syncerTypes * (1 + share(nodes));
  // The same with the mean of what nodes have, which need not be a whole number.
  const { connections = 0 } = basis;
  return Math.ceil(connections / Math.max(1, nodes)) + share(connections);
}
