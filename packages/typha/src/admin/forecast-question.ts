import type { ForecastInputs } from "../limit/limit-forecast.ts";

const MAX = 1_000_000_000;

/**
 * GET /api/v1/forecast?typhas=T&nodes=N...: what the limit would be. Beside those two, `lower`, `upper`, `syncerTypes`,
 * `basis` (formula or observed) and `connections` (what there is in truth; needed for observed) may be said; else they
 * are those of a server that nobody has set up. A problem in words where the question cannot be read.
 */
export function parseForecastQuestion(query: unknown): ForecastInputs | string {
  const fields = query as Readonly<Record<string, unknown>>;
  const problems: string[] = [];
  const number = (name: string, least: number, otherwise: number | undefined): number | undefined => {
    const text = fields[name];
    if (text === undefined || text === "") {
      if (otherwise === undefined) problems.push(`${name} is needed`);
      return otherwise;
    }
    const value = typeof text === "string" && /^\d{1,10}$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= MAX) return value;
    problems.push(`${name} is not a whole number from ${least} to ${MAX}`);
    return undefined;
  };
  const typhas = number("typhas", 0, undefined);
  const nodes = number("nodes", 0, undefined);
  const lower = number("lower", 1, 400);
  const upper = number("upper", 1, 10_000);
  const syncerTypes = number("syncerTypes", 1, 4);
  const basis = fields["basis"] ?? "formula";
  if (basis !== "formula" && basis !== "observed") problems.push("basis is neither formula nor observed");
  const said = fields["connections"] ?? "";
  const connections = said === "" && basis !== "observed" ? undefined : number("connections", 0, undefined);
  if (problems.length > 0) return problems.join("; ");
  if (typhas === undefined || nodes === undefined || lower === undefined || upper === undefined) return "incomplete";
  return {
    typhas,
    nodes,
    lower,
    upper,
    basis:
      basis === "observed" ? { type: "observed", connections } : { type: "formula", syncerTypes: syncerTypes ?? 1 },
    ...(connections !== undefined && { connections }),
  };
}
