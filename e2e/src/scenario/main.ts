import { parseArgs } from "node:util";
import { isInsideLab, labSignal, prepareLab, runInsideLab } from "../lab/enter.ts";
import { SCENARIOS } from "./registry.ts";

const HELP = `Usage: npm run e2e -- NAME [--quick | --minutes N | --steps N] [--seed N]
       npm run e2e -- --list

Runs one scenario on real parts: processes, network namespaces of its own, real packets. The last line is its figures as
JSON; the exit code is 0 when it passed. --minutes is for the scenarios that go on for a while (datastore-churn: 3, soak: 10),
--steps for those with a script or rounds (datastore-same: 1000, agent-chaos: 8).
`;

function list(): string {
  const width = Math.max(...SCENARIOS.map(({ name }) => name.length));
  return SCENARIOS.map(({ name, summary }) => `${name.padEnd(width)}  ${summary}\n`).join("");
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    minutes: { type: "string" },
    seed: { type: "string", default: "1" },
    steps: { type: "string" },
    help: { type: "boolean", short: "h", default: false },
  },
});
const scenario = SCENARIOS.find(({ name }) => name === positionals[0]);
if (values.list || values.help) {
  process.stdout.write(values.list ? list() : HELP);
} else if (scenario === undefined) {
  process.stderr.write(
    `${positionals[0] === undefined ? "Name a scenario" : `There is no scenario '${positionals[0]}'`}:\n${list()}`,
  );
  process.exitCode = 2;
} else if (values.minutes !== undefined && !(Number(values.minutes) > 0)) {
  process.stderr.write(`--minutes is '${values.minutes}', expected a number above 0\n`);
  process.exitCode = 2;
} else if (values.steps !== undefined && !(Number(values.steps) > 0)) {
  process.stderr.write(`--steps is '${values.steps}', expected a number above 0\n`);
  process.exitCode = 2;
} else if (isInsideLab()) {
  prepareLab();
  const startedMs = performance.now();
  // Everything of a scenario is inside its namespaces and ends with this process.
  labSignal().addEventListener("abort", () => process.exit(1));
  try {
    const figures = await scenario.run({
      seed: Number(values.seed),
      quick: values.quick,
      ...(values.steps !== undefined && { steps: Number(values.steps) }),
      ...(values.minutes !== undefined && { minutes: Number(values.minutes) }),
      progress: (text) => process.stderr.write(`${text}\n`),
    });
    const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
    process.stdout.write(`${JSON.stringify({ scenario: scenario.name, passed: true, ...figures, seconds })}\n`);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.stdout.write(`${JSON.stringify({ scenario: scenario.name, passed: false })}\n`);
    process.exit(1);
  }
} else {
  process.exitCode = await runInsideLab();
}
