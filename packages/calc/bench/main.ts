import { calcLoads } from "./index.ts";

/** Runs one load by name (or lists them) and prints its figures as one JSON line: for a process of its own. */
const [name] = process.argv.slice(2);
const loads = calcLoads();
const load = loads.find((one) => one.name === name);
if (load === undefined) {
  console.error(`One of: ${loads.map((one) => one.name).join(" ")}`);
  process.exitCode = 2;
} else {
  const { graph, ...figures } = load.run();
  console.log(JSON.stringify({ name: load.name, ...figures, reference: load.reference }));
  // The graph stays alive until the heap was measured.
  if (graph.stats.policies < 0) throw new Error("A graph with fewer than no policies");
}
