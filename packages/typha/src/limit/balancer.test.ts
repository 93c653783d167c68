import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ManualClock, seededRandom } from "@bulrush/base";
import { silentLogger } from "@bulrush/service";
import { SimulatedFleet } from "../testing/simulated-fleet.ts";
import { Balancer, type BalancerSettings } from "./balancer.ts";

const SETTINGS: BalancerSettings = {
  lower: 400,
  upper: 10_000,
  syncerTypes: 4,
  basis: "formula",
  levelling: true,
  dropIntervalMs: 1000,
  pollIntervalMs: 30_000,
};

const TYPES = ["felix", "bgp", "tunnel-ip-allocation", "node-status"];

const IS_LONG = process.env["BULRUSH_LONG_TESTS"] === "1";

interface Case {
  readonly servers: number;
  readonly nodes: number;
  readonly connections: number;
  readonly types?: readonly string[];
  readonly settings?: Partial<BalancerSettings>;
  readonly seed?: number;
}

function makeFleet({ seed = 1, settings, ...more }: Case): SimulatedFleet {
  const all = { ...SETTINGS, ...settings };
  return new SimulatedFleet({ ...more, clock: new ManualClock(1e12), random: seededRandom(seed), settings: all });
}

/**
 * What is promised five minutes after a change: all within a tenth, under 1 % moved twice, nobody sent into the void. Of
 * fewer than 200 streams one may be.
 */
function assertLevel(
  fleet: SimulatedFleet,
  { connections, types = [] }: Pick<Case, "connections" | "types">,
  what: string,
): void {
  for (const type of types) {
    const ofType = fleet.countsOf(type);
    const spread = (ofType.at(-1) ?? 0) - (ofType[0] ?? 0);
    const all = ofType.reduce((sum, count) => sum + count, 0);
    const allowed = Math.max(1, (0.1 * all) / ofType.length);
    assert.ok(spread <= allowed, `${what}: ${type}: ${ofType.join(" ")}`);
  }
  const { counts } = fleet;
  const mean = connections / counts.length;
  const [least = 0] = counts;
  const most = counts.at(-1) ?? 0;
  assert.ok(most - least <= Math.max(1, 0.1 * mean), `${what}: ${counts.join(" ")}`);
  assert.ok(fleet.movedTwice < Math.max(2, 0.01 * connections), `${what}: ${fleet.movedTwice} moved twice`);
  assert.equal(fleet.badSheds, 0, `${what}: streams shed without room elsewhere`);
}

const fleets: readonly Case[] = [
  { servers: 1, nodes: 50, connections: 200 },
  { servers: 2, nodes: 75, connections: 300 },
  { servers: 3, nodes: 100, connections: 300 },
  { servers: 3, nodes: 1000, connections: 1000 },
  { servers: 1, nodes: 500, connections: 2000 },
  { servers: 2, nodes: 10, connections: 12 },
  { servers: 7, nodes: 500, connections: 1500 },
  { servers: 2, nodes: 100, connections: 400, types: TYPES },
  { servers: 1, nodes: 250, connections: 1000, types: TYPES },
  { servers: 3, nodes: 20, connections: 80, types: TYPES },
];
for (const one of fleets) {
  const { servers, connections, types = [] } = one;
  const kinds = types.length === 0 ? "" : ` of ${types.length} types`;
  test(`Balancer levels ${connections} streams${kinds} within 5 minutes after a server joins ${servers}, and after one leaves`, async () => {
    for (const seed of [1, 2]) {
      const fleet = makeFleet({ ...one, seed });
      await fleet.run(3);
      fleet.forget();
      fleet.join();
      await fleet.run(5);
      assertLevel(fleet, one, `seed ${seed}, joined`);
      fleet.forget();
      await fleet.drainOne();
      await fleet.run(5);
      assertLevel(fleet, one, `seed ${seed}, drained`);
      fleet.join();
      await fleet.run(6);
      fleet.forget();
      fleet.crashOne();
      await fleet.run(5);
      assertLevel(fleet, one, `seed ${seed}, crashed`);
      fleet.stop();
    }
  });
}

test("Balancer does not drop for ever where the limit is below the mean (2,000 nodes, 20 servers)", async () => {
  // 8,240 streams are 412 a server, and the limit is (1 + floor(1.2 * 2000 / 19)) * 3 = 381.
  const settings = { syncerTypes: 3, lower: 1 };
  const fleet = makeFleet({ servers: 20, nodes: 2000, connections: 8240, settings });
  await fleet.run(10);
  fleet.forget();
  await fleet.run(10);
  assert.equal(fleet.sheds, 0);
  fleet.stop();
});

test("Balancer sheds down to the limit without levelling, and no further", async () => {
  const settings = { levelling: false, lower: 60, syncerTypes: 1 };
  // (1 + floor(1.2 * 100 / 1)) = 121.
  const fleet = makeFleet({ servers: 1, nodes: 100, connections: 200, settings });
  await fleet.run(2);
  fleet.join();
  await fleet.run(5);
  assert.deepEqual(fleet.counts, [79, 121]);
  assert.equal(fleet.badSheds, 0);
  fleet.stop();
});

test("Balancer levels any fleet after any few changes, and moves under 1 % of all streams twice", async () => {
  let streams = 0;
  let movedTwice = 0;
  const settings = fc.record({
    lower: fc.constantFrom(1, 400),
    syncerTypes: fc.integer({ min: 3, max: 4 }),
    basis: fc.constantFrom("formula" as const, "observed" as const),
    dropIntervalMs: fc.constantFrom(300, 1000),
  });
  const fleets = fc.record({
    servers: fc.integer({ min: 2, max: 5 }),
    nodes: fc.integer({ min: 10, max: 120 }),
    perNode: fc.integer({ min: 1, max: 3 }),
    settings,
    seed: fc.nat(),
    types: fc.constantFrom(["felix"], TYPES),
    changes: fc.array(fc.constantFrom("join", "drain", "crash"), { minLength: 1, maxLength: 2 }),
  });
  await fc.assert(
    fc.asyncProperty(fleets, async ({ changes, perNode, ...more }) => {
      const one = { ...more, connections: more.nodes * perNode };
      const fleet = makeFleet(one);
      await fleet.run(6);
      for (const change of changes) {
        fleet.forget();
        if (change === "join") fleet.join();
        else if (change === "drain") await fleet.drainOne();
        else fleet.crashOne();
        await fleet.run(5);
        assertLevel(fleet, one, change);
        streams += one.connections;
        movedTwice += fleet.movedTwice;
        if (fleet.counts.length === 1) break;
      }
      fleet.stop();
    }),
    // The same fleets each time, as a run is many minutes of many servers.
    IS_LONG ? { numRuns: 300 } : { numRuns: 8, seed: 5629 },
  );
  assert.ok(movedTwice < 0.01 * streams, `${movedTwice} of ${streams} moved twice`);
});

test("Balancer keeps the upper limit while servers cannot be counted, and works it out again once they can", async () => {
  const clock = new ManualClock(1e12);
  let isBroken = true;
  let nodes: number | undefined = undefined;
  const limits: number[] = [];
  const balancer = new Balancer({
    settings: { ...SETTINGS, syncerTypes: 3, lower: 11, upper: 101 },
    clock,
    random: () => 0.5,
    logger: silentLogger,
    metrics: { counted: (limit) => void limits.push(limit), shed() {}, stuck() {}, cameBack() {} },
    instance: "own",
    listTyphas: () => {
      if (isBroken) return Promise.reject(new Error("403: not allowed"));
      return Promise.resolve(["a", "b", "c", "d", "e"].map((id) => ({ id, addresses: [`${id}:1`] })));
    },
    countNodes: () => nodes,
    askLoad: () => Promise.reject(new Error("refused")),
    streams: () => [],
    takesClients: () => true,
  });
  balancer.start();
  await clock.advance(0);
  assert.deepEqual([balancer.view().limit, balancer.view().reason], [101, "error"]);
  assert.equal(balancer.view().problem, "403: not allowed");
  isBroken = false;
  await clock.advance(40_000);
  assert.deepEqual([balancer.view().typhas, balancer.view().reason], [5, "error"], "the nodes are not known yet");
  nodes = 100;
  await clock.advance(40_000);
  assert.deepEqual([balancer.view().limit, balancer.view().reason], [93, "fraction+20%"]);
  isBroken = true;
  await clock.advance(40_000);
  assert.deepEqual([balancer.view().limit, balancer.view().reason], [101, "error"]);
  balancer.stop();
  assert.equal(clock.pending, 0);
  assert.deepEqual([...new Set(limits)], [101, 93]);
});

test("Balancer treats a list of servers that does not come in 5 s as failed", async () => {
  const clock = new ManualClock(1e12);
  const balancer = new Balancer({
    settings: SETTINGS,
    clock,
    random: () => 0,
    logger: silentLogger,
    metrics: { counted() {}, shed() {}, stuck() {}, cameBack() {} },
    instance: "own",
    listTyphas: () => new Promise(() => {}),
    countNodes: () => 10,
    askLoad: () => Promise.reject(new Error("refused")),
    streams: () => [],
    takesClients: () => true,
  });
  balancer.start();
  await clock.advance(4999);
  assert.equal(balancer.view().problem, "not counted yet");
  await clock.advance(1);
  assert.equal(balancer.view().problem, "no answer in 5 s");
  balancer.stop();
});
