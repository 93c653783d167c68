import { parseArgs } from "node:util";
import { messageOf } from "@bulrush/base";
import { agentMemoryBench } from "./agent-memory.ts";
import { calcBench } from "./calc.ts";
import { connectionsBench } from "./connections.ts";
import { datastoreBench } from "./datastore.ts";
import { fanoutBench } from "./fanout.ts";
import { churnBench, dataplaneBench, largeHostBench, routesBench } from "./in-namespace.ts";
import { memoryBench } from "./memory.ts";
import { propagationBench } from "./propagation.ts";
import type { Bench } from "./row.ts";
import { snapshotBench } from "./snapshot.ts";

const BENCHES: readonly Bench[] = [
  fanoutBench,
  snapshotBench,
  connectionsBench,
  propagationBench,
  memoryBench,
  calcBench,
  datastoreBench,
  dataplaneBench,
  routesBench,
  churnBench,
  largeHostBench,
  agentMemoryBench,
];

const HELP = `Usage: npm run bench -- NAME [--quick]

Prints JSON lines: {"bench","case","metric","value","unit","floor"?,"reference"?,"ratio"?,"limit"?}. A reference is what
the reference system needs for the same work, scaled to this machine by a calibration in the same run; a floor is measured
in the same run. ratio = value / reference (or / floor); limit bounds it.

${BENCHES.map(({ name, summary }) => `  ${name.padEnd(14)}${summary}`).join("\n")}
`;

function readArgs(): { readonly name: string | undefined; readonly quick: boolean; readonly help: boolean } | string {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { quick: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
    });
    return { ...values, name: positionals[0] };
  } catch (error) {
    return messageOf(error);
  }
}

const args = readArgs();
const bench = typeof args === "string" ? undefined : BENCHES.find(({ name }) => name === args.name);
if (typeof args === "string") {
  process.stderr.write(`${args}\n\n${HELP}`);
  process.exitCode = 2;
} else if (args.help) {
  process.stdout.write(HELP);
} else if (bench === undefined) {
  process.stderr.write(HELP);
  process.exitCode = 2;
} else {
  await bench.run({ quick: args.quick, progress: (text) => process.stderr.write(`${text}\n`) }, (row) =>
    process.stdout.write(`${JSON.stringify(row)}\n`),
  );
}
