import { type ForecastInputs, forecastLimit, type LimitBasis, type LimitForecast } from "@bulrush/typha";
import { ADMIN_OPTIONS, adminClients } from "../fleet/admin-client.ts";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { usageError } from "../errors.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";
import { type LiveInputs, readLive } from "./read-live.ts";

const FORMATS = ["text", "json", "yaml"] as const;

/** bulrushctl limits --nodes N --typhas T */
export const limits: Command = {
  name: "limits",
  summary: "Work out Typha's connection limit for a cluster that is not there yet",
  usage: [
    "limits --nodes N --typhas T [--syncer-types S] [--lower L] [--upper U] [--connections C]",
    "limits --admin URL... [what is to be another than it is: --nodes N and so on]",
  ],
  description: [
    "Says how many connections one Typha may have before it hands some over to the others, and why, with the code that Typha itself runs. Warns where the limit can never balance a fleet, and where streams in good health would be ended.",
    "The limit is streams * (1 + floor(1.2 * nodes / (typhas - 1))), between the lower and the upper limit: a Typha's share of the nodes when one is away, and a fifth more. With TYPHA_CONNECTIONLEVELLING (on unless turned off) Typhas even out below the limit too, within 10 %.",
    "With --admin the numbers and settings are those of the Typhas that run, except for what is said on the command line: the limit of the cluster as it is, or as it would be.",
  ],
  options: [
    { name: "nodes", value: "N", doc: "Nodes of the cluster." },
    { name: "typhas", value: "T", doc: "Ready Typhas." },
    { name: "syncer-types", value: "S", doc: "Streams that Typha serves. Default: 4." },
    { name: "lower", value: "L", doc: "TYPHA_MAXCONNECTIONSLOWERLIMIT. Default: 400." },
    { name: "upper", value: "U", doc: "TYPHA_MAXCONNECTIONSUPPERLIMIT. Default: 10000." },
    {
      name: "connections",
      value: "C",
      doc: "Connections that all nodes have together. Default: every node follows every stream.",
    },
    {
      name: "basis",
      value: "BASIS",
      doc: "TYPHA_CONNECTIONLIMITBASIS: formula or observed, which counts with --connections. Default: formula.",
    },
    ...ADMIN_OPTIONS,
    outputOption(FORMATS, "text"),
  ],
  examples: [
    { what: "a thousand nodes on seven Typhas", line: "bulrushctl limits --nodes 1000 --typhas 7" },
    {
      what: "what would two more Typhas do to this cluster?",
      line: "bulrushctl limits --admin http://localhost:9097 --typhas 9",
    },
    {
      what: "no BGP, so that a node has two streams and not four",
      line: "bulrushctl limits --nodes 1000 --typhas 7 --connections 2000 --basis observed",
    },
  ],
  run: runLimits,
};

async function runLimits(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  if (args.positionals.length > 0) throw usageError(`limits takes no arguments: ${args.positionals.join(" ")}`);
  const live = args.has("admin") ? await readLive(await adminClients(args, io)) : undefined;
  const inputs = readInputs(args, live);
  const forecast = forecastLimit(inputs);
  if (format !== "text") {
    await printValue(io.out, format, { ...forecast, mean: forecast.mean ?? null, ratio: forecast.ratio ?? null });
    return 0;
  }
  await io.out.write(textOf(inputs, forecast));
  for (const { message } of forecast.warnings) await io.out.write(`${io.out.style("yellow", "warning:")} ${message}\n`);
  return 0;
}

function readInputs(args: Arguments, live: LiveInputs | undefined): ForecastInputs {
  const isGiven = live?.connections !== undefined || args.get("connections") !== undefined;
  const connections = isGiven ? countOf(args, "connections", 0, live?.connections) : undefined;
  return {
    typhas: countOf(args, "typhas", 0, live?.typhas),
    nodes: countOf(args, "nodes", 0, live?.nodes),
    basis: basisOf(args, connections, live),
    lower: countOf(args, "lower", 1, live?.lower ?? 400),
    upper: countOf(args, "upper", 1, live?.upper ?? 10_000),
    ...(connections !== undefined && { connections }),
  };
}

function basisOf(args: Arguments, connections: number | undefined, live: LiveInputs | undefined): LimitBasis {
  const text = args.get("basis") ?? live?.basis ?? "formula";
  const syncerTypes = countOf(args, "syncer-types", 1, live?.syncerTypes ?? 4);
  if (text === "formula") return { type: "formula", syncerTypes };
  if (text !== "observed") throw usageError(`--basis ${text} is neither formula nor observed`);
  if (connections === undefined) throw usageError("--basis observed needs --connections");
  return { type: "observed", connections };
}

function countOf(args: Arguments, name: string, least: number, standard?: number): number {
  const text = standard === undefined ? args.need(name) : args.get(name);
  if (text === undefined) return standard ?? 0;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= least)) throw usageError(`--${name} ${text} is not a whole number from ${least}`);
  return count;
}

function textOf({ typhas }: ForecastInputs, { limit, reason, connections, mean, ratio }: LimitForecast): string {
  const rows: readonly (readonly [string, string])[] = [
    ["limit", `${limit} connections a Typha (${reason})`],
    ["in all", `${connections} connections on ${typhas} Typhas`],
    ...(mean === undefined ? [] : [["mean", `${mean.toFixed(1)} a Typha`] as const]),
    ...(ratio === undefined ? [] : [["slack", `a Typha may have ${ratio.toFixed(2)} times the mean`] as const]),
  ];
  return rows.map(([name, value]) => `${name.padEnd(8)}${value}\n`).join("");
}
