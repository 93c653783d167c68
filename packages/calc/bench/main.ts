import { calcCases } from "./index.ts";

/** Runs one case by name (or lists them) and prints its figures as one JSON line: for a process of its own. */
const [name] = process.argv.slice(2);
const cases = calcCases();
const one = cases.find((each) => each.name === name);
if (one === undefined) {
  console.error(`One of: ${cases.map((each) => each.name).join(" ")}`);
  process.exitCode = 2;
} else console.log(JSON.stringify(one.run()));
