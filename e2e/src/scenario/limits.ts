import assert from "node:assert/strict";
import { LabNetwork } from "../lab/network.ts";
import { runCtl } from "../ctl-store/run-ctl.ts";
import { LimitsWorld } from "./limits-world.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

/** Low enough that the limit follows the nodes. */
const LOWER = 20;
const UPPER = 10_000;

/** One change, and whether it moves streams. */
interface Step {
  readonly what: "join" | "leave" | "nodes";
  readonly nodes: number;
}

const WHOLE: readonly Step[] = [
  { what: "join", nodes: 50 },
  { what: "nodes", nodes: 1000 },
  { what: "join", nodes: 1000 },
  { what: "leave", nodes: 1000 },
  { what: "nodes", nodes: 50 },
];
const QUICK: readonly Step[] = [
  { what: "join", nodes: 20 },
  { what: "nodes", nodes: 60 },
  { what: "leave", nodes: 60 },
];

async function run({ quick, progress }: ScenarioOptions): Promise<ScenarioFigures> {
  // For an address that is not a loopback one: EndpointSlices have no others.
  new LabNetwork();
  const clients = quick ? 60 : 300;
  const steps = quick ? QUICK : WHOLE;
  const settings = { TYPHA_MAXCONNECTIONSLOWERLIMIT: String(LOWER), TYPHA_MAXCONNECTIONSUPPERLIMIT: String(UPPER) };
  const world = await LimitsWorld.start();
  let [widest, movedTwice, moved] = [0, 0, 0];
  try {
    await world.setNodes(steps[0]?.nodes ?? 0);
    await world.startTypha(settings);
    world.addClients(clients);
    await world.pass(2);
    await world.counted();
    await checkLimit(world);
    for (const { what, nodes } of steps) {
      const [before, movesBefore] = [world.connects(), world.moves];
      if (what === "join") await world.startTypha(settings);
      else if (what === "leave") await world.stopTypha();
      else await world.setNodes(nodes);
      await world.counted();
      await checkLimit(world);
      await world.pass(5);
      const spread = await spreadOf(world, clients);
      const counts = world.connects().map((count, i) => count - (before[i] ?? 0));
      const twice = counts.filter((count) => count > 1).length;
      const all = counts.reduce((sum, count) => sum + count, 0);
      const shown = `${what}: ${world.typhas} Typhas, ${world.nodes} nodes`;
      progress(`${shown}: ${all} moves, ${twice} clients twice, spread ${Math.round(spread * 1000) / 10} %`);
      assert.ok(spread <= Math.max(0.1, world.typhas / clients), `${shown}: a spread of ${spread}`);
      assert.ok(twice < Math.max(1, 0.01 * clients), `${shown}: ${twice} clients were moved twice`);
      if (what === "nodes") assert.equal(all, 0, `${shown}: nothing was to be moved`);
      else assert.ok(all > 0, `${shown}: nothing was moved`);
      // Who is handed over is served until the other server has it.
      if (what === "join") assert.equal(world.moves - movesBefore, all, `${shown}: without a moment in between`);
      [widest, movedTwice, moved] = [Math.max(widest, spread), Math.max(movedTwice, twice), moved + all];
    }
    assert.equal(world.madeUpDeletes, 0, "nobody was ever told that something is gone that is not");
  } finally {
    await world.stop();
  }
  return { clients, steps: steps.length, moved, movedTwice, widestSpread: Math.round(widest * 1000) / 1000 };
}

/** What each Typha works out is what `bulrushctl limits` says for the same numbers. */
async function checkLimit(world: LimitsWorld): Promise<void> {
  const numbers = ["--nodes", world.nodes, "--typhas", world.typhas, "--lower", LOWER, "--upper", UPPER];
  const { code, out, err } = await runCtl(["limits", ...numbers.map(String), "-o", "json"], {});
  assert.equal(code, 0, err);
  const { limit, reason } = JSON.parse(out) as { readonly limit: number; readonly reason: string };
  for (const { name, balance } of await world.statuses())
    assert.deepEqual({ limit: balance?.limit, reason: balance?.reason }, { limit, reason }, name);
}

/** The difference between the fullest and the emptiest Typha, of the mean. */
async function spreadOf(world: LimitsWorld, clients: number): Promise<number> {
  const counts = (await world.statuses()).map(({ connections }) => connections.streaming);
  const all = counts.reduce((sum, count) => sum + count, 0);
  assert.equal(all, clients, `streams: ${counts.join(" ")}`);
  return (Math.max(...counts) - Math.min(...counts)) / (clients / counts.length);
}

export const limits: Scenario = {
  name: "limits",
  summary: "Typhas join and leave, nodes come and go: limits as bulrushctl says, level within 5 minutes, few moves",
  needsKube: true,
  run,
};
