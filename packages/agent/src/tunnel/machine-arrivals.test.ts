import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { memoryLogger } from "@bulrush/service";
import { MachineArrivals } from "./machine-arrivals.ts";

function rig() {
  const clock = new ManualClock();
  const logger = memoryLogger();
  const calls: string[] = [];
  const state = { failures: 0 };
  const arrivals = new MachineArrivals({
    clock,
    random: () => 0.5,
    logger,
    async takeOver(address, { name, namespace }) {
      calls.push(`${address} ${namespace} ${name}`);
      if (state.failures-- > 0) throw new Error("forbidden");
      return true;
    },
  });
  const arrive = (orchestrator: string, ...addresses: readonly string[]): void =>
    arrivals.onDataplane({
      msg: "LiveMigrationArrival",
      id: { orchestrator, workload: "vms/launcher", endpoint: "eth0" },
      addresses,
    });
  return { arrivals, arrive, calls, clock, logger, state };
}

test("MachineArrivals makes the machine's pod the owner of each of its addresses, and does nothing of other news", async () => {
  const { arrivals, arrive, calls, clock, logger } = rig();
  arrivals.onDataplane({ msg: "DataplaneInSync" });
  arrive("openstack", "10.0.0.9");
  arrive("k8s", "10.0.0.2", "fd00::2");
  await clock.advance(0);
  await clock.advance(100_000);
  assert.deepEqual(calls, ["10.0.0.2 vms launcher", "fd00::2 vms launcher"]);
  assert.deepEqual(
    logger.records.map(({ level }) => level),
    ["info", "info"],
  );
});

test("MachineArrivals tries five times, ever more slowly, and says that it gave up", async () => {
  const { arrive, calls, clock, logger, state } = rig();
  state.failures = 100;
  arrive("k8s", "10.0.0.2");
  await clock.advance(0);
  for (let i = 0; i < 200; i++) await clock.advance(1000);
  assert.equal(calls.length, 5);
  assert.equal(logger.records.length, 5);
  assert.match(logger.records.at(-1)?.message ?? "", /gave up after 5 tries/);
  assert.equal(clock.pending, 0);
});

test("MachineArrivals goes on where a try works at last, and ends when it is told to", async () => {
  const { arrivals, arrive, calls, clock, state } = rig();
  state.failures = 2;
  arrive("k8s", "10.0.0.2", "fd00::2");
  await clock.advance(0);
  for (let i = 0; i < 60; i++) await clock.advance(1000);
  assert.equal(calls.length, 4);
  state.failures = 100;
  arrive("k8s", "10.0.0.3");
  await clock.advance(0);
  arrivals.stop();
  for (let i = 0; i < 60; i++) await clock.advance(1000);
  assert.equal(calls.length, 5);
  assert.equal(clock.pending, 0);
});
