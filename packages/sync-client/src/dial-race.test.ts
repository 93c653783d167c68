import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { DialRace, type DialRaceResult } from "./dial-race.ts";
import type { ServerAddress } from "./server-address.ts";

interface Dialled {
  readonly host: string;
  answeredMs: number | undefined;
  isClosed: boolean;
  won(): void;
  failed(error: Error): void;
}

interface Scene {
  readonly clock: ManualClock;
  readonly race: DialRace;
  readonly dialled: Dialled[];
  readonly result: () => DialRaceResult | undefined;
}

/** A race over these hosts, the first one at once. */
function race(...hosts: readonly string[]): Scene {
  const clock = new ManualClock();
  const dialled: Dialled[] = [];
  const left = hosts.map((host): ServerAddress => ({ host, port: 1 }));
  const first = left.shift() as ServerAddress;
  let result: DialRaceResult | undefined;
  const made = new DialRace(first, {
    clock,
    staggerMs: 1000,
    patienceMs: 5000,
    maxRacers: 3,
    next: (racing) => {
      assert.ok(racing.length > 0);
      return left.shift();
    },
    dial: (address, outcome) => {
      const one: Dialled = { host: address.host, answeredMs: undefined, isClosed: false, ...outcome };
      dialled.push(one);
      return { address, answeredMs: () => one.answeredMs, close: () => void (one.isClosed = true) };
    },
  });
  void made.result.then((value) => (result = value));
  return { clock, race: made, dialled, result: () => result };
}

test("DialRace dials one more each second, three at most, and the first welcome wins", async () => {
  const { clock, race: made, dialled, result } = race("a", "b", "c", "d");
  await clock.advance(999);
  assert.equal(dialled.length, 1);
  await clock.advance(10_000);
  assert.deepEqual(
    dialled.map(({ host }) => host),
    ["a", "b", "c"],
  );
  dialled[1]?.won();
  await clock.advance(0);
  const won = result();
  assert.equal(won?.type === "won" ? won.racer.address.host : "", "b");
  assert.deepEqual(
    dialled.map(({ isClosed }) => isClosed),
    [true, false, true],
  );
  assert.equal(made.isOver, true);
  assert.equal(clock.pending, 0);
});

test("DialRace waits for a server that answers, and dials another one when the welcome does not come", async () => {
  const { clock, dialled } = race("a", "b");
  const [first] = dialled;
  assert.ok(first);
  first.answeredMs = 0;
  await clock.advance(4000);
  assert.equal(dialled.length, 1);
  first.answeredMs = 5000;
  await clock.advance(1000);
  assert.equal(dialled.length, 2);
});

test("DialRace is over when all have failed, and goes on with others while one is left", async () => {
  const { clock, dialled, result } = race("a", "b", "c", "d");
  await clock.advance(2000);
  dialled[0]?.failed(new Error("a is full"));
  await clock.advance(1000);
  assert.deepEqual(
    dialled.map(({ host }) => host),
    ["a", "b", "c", "d"],
  );
  for (const one of dialled.slice(1)) one.failed(new Error(`${one.host} is full`));
  await clock.advance(0);
  const lost = result();
  assert.equal(lost?.type, "failed");
  assert.deepEqual(
    lost.failures.map(({ address, error }) => `${address.host}: ${error.message}`),
    ["a: a is full", "b: b is full", "c: c is full", "d: d is full"],
  );
  assert.equal(clock.pending, 0);
});

test("stop() closes all that are dialled, and no outcome counts after it", async () => {
  const { clock, race: made, dialled, result } = race("a", "b");
  await clock.advance(1000);
  made.stop();
  dialled[0]?.won();
  await clock.advance(5000);
  assert.equal(result()?.type, "failed");
  assert.deepEqual(
    dialled.map(({ isClosed }) => isClosed),
    [true, true],
  );
  assert.equal(clock.pending, 0);
});
