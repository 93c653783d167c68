import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { memoryLogger } from "@bulrush/service";
import { WireguardKeys } from "./wireguard-keys.ts";

function rig() {
  const clock = new ManualClock();
  const logger = memoryLogger();
  const calls: string[] = [];
  const state = { fails: false, gate: undefined as Promise<void> | undefined };
  const keys = new WireguardKeys({
    clock,
    random: () => 0.5,
    logger,
    async publish(family, publicKey) {
      calls.push(`${family} ${publicKey}`);
      await state.gate;
      if (state.fails) throw new Error("forbidden");
      return true;
    },
  });
  const tell = (ip_version: 4 | 6, public_key: string): void =>
    keys.onDataplane({ msg: "WireguardStatusUpdate", ip_version, public_key });
  return { calls, clock, keys, logger, state, tell };
}

test("WireguardKeys writes what the dataplane tells, and nothing of other news", async () => {
  const { calls, clock, keys, logger, tell } = rig();
  keys.onDataplane({ msg: "DataplaneInSync" });
  tell(4, "a");
  tell(6, "b");
  await clock.advance(0);
  await clock.advance(100_000);
  assert.deepEqual(calls, ["4 a", "6 b"]);
  assert.deepEqual(
    logger.records.map(({ level, message }) => [level, message]),
    [
      ["info", "WireGuard key"],
      ["info", "WireGuard key"],
    ],
  );
});

test("WireguardKeys tries again until it is done, ever more slowly, and says why", async () => {
  const { calls, clock, logger, state, tell } = rig();
  state.fails = true;
  tell(4, "a");
  await clock.advance(0);
  for (let i = 0; i < 600; i++) await clock.advance(1000);
  const tries = calls.length;
  assert.ok(tries >= 8 && tries <= 25, String(tries));
  assert.ok(logger.records.every(({ level }) => level === "warn"));
  state.fails = false;
  for (let i = 0; i < 200; i++) await clock.advance(1000);
  assert.equal(calls.length, tries + 1);
});

test("WireguardKeys writes the newest key alone, and one at a time", async () => {
  const { calls, clock, state, tell } = rig();
  const { promise, resolve } = Promise.withResolvers<void>();
  state.gate = promise;
  tell(4, "a");
  await clock.advance(0);
  tell(4, "b");
  tell(4, "");
  await clock.advance(1000);
  assert.deepEqual(calls, ["4 a"]);
  resolve();
  for (let i = 0; i < 5; i++) await clock.advance(1000);
  assert.deepEqual(calls, ["4 a", "4 "]);
});

test("WireguardKeys does nothing once it is stopped", async () => {
  const { calls, clock, keys, state, tell } = rig();
  state.fails = true;
  tell(4, "a");
  await clock.advance(0);
  keys.stop();
  tell(4, "b");
  for (let i = 0; i < 100; i++) await clock.advance(1000);
  assert.deepEqual(calls, ["4 a"]);
});
