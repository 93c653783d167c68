import { parseArgs } from "node:util";
import { churn } from "./churn.ts";
import { largeHost } from "./large-host.ts";
import type { BenchOptions, Row } from "./row.ts";
import { routes } from "./routes.ts";
import { changes, firstProgram, oneChange, rendering } from "./ruleset.ts";

/** Runs the benches of one name in the network namespace it is started in, and prints each figure as a JSON line. */
const BENCHES: Readonly<Record<string, readonly ((options: BenchOptions) => Promise<void>)[]>> = {
  dataplane: [firstProgram, rendering, changes, oneChange],
  routes: [routes],
  churn: [churn],
  "large-host": [largeHost],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, scale: { type: "string", default: "1" } },
});
const benches = BENCHES[positionals[0] ?? ""];
if (benches === undefined) {
  console.error(`One of: ${Object.keys(BENCHES).join(" ")}`);
  process.exitCode = 2;
} else {
  const print = (row: Row): void => console.log(JSON.stringify(row));
  for (const bench of benches) await bench({ quick: values.quick, scale: Number(values.scale), print });
}
