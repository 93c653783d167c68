import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { HealthAggregator } from "./aggregator.ts";

test("summary() is live and ready, when there is no reporter", () => {
  assert.deepEqual(new HealthAggregator(new ManualClock()).summary(), { live: true, ready: true, text: "" });
});

test("summary() is live but not ready, before the first report", () => {
  const health = new HealthAggregator(new ManualClock());
  health.register("cache");
  const { live, ready } = health.summary();
  assert.deepEqual([live, ready], [true, false]);
});

test("summary() counts only what a reporter answers for", () => {
  const health = new HealthAggregator(new ManualClock());
  health.register("live only", { ready: false }).report({ live: true, ready: false });
  health.register("ready only", { live: false }).report({ live: false, ready: true });
  assert.deepEqual([health.summary().live, health.summary().ready], [true, true]);
});

test("summary() fails for both, when a report is older than its time-out, and recovers", async () => {
  const clock = new ManualClock();
  const health = new HealthAggregator(clock);
  const reporter = health.register("loop", { timeoutMs: 20_000 });
  reporter.report({ live: true, ready: true });
  await clock.advance(20_000);
  assert.deepEqual([health.summary().live, health.summary().ready], [true, true]);
  await clock.advance(1);
  assert.deepEqual([health.summary().live, health.summary().ready], [false, false]);
  assert.match(health.summary().text, /NOT LIVE \(last report 20s ago\)/);
  reporter.report({ live: true, ready: true });
  assert.equal(health.summary().live, true);
});

test("overrideTimeouts() counts for reporters before and after it", async () => {
  const clock = new ManualClock();
  const health = new HealthAggregator(clock);
  health.register("early", { timeoutMs: 1000 }).report({ live: true, ready: true });
  health.overrideTimeouts(
    new Map([
      ["early", 5000],
      ["late", 5000],
    ]),
  );
  health.register("late", { timeoutMs: 1000 }).report({ live: true, ready: true });
  await clock.advance(5000);
  assert.equal(health.summary().live, true);
  await clock.advance(1);
  assert.equal(health.summary().live, false);
});

test("remove() takes a reporter out and frees its name", () => {
  const health = new HealthAggregator(new ManualClock());
  health.register("x").remove();
  assert.equal(health.summary().ready, true);
  health.register("x").report({ live: true, ready: true });
  assert.throws(() => health.register("x"), { name: "AssertionError" });
});

test("text is an aligned table in words, sorted by name", () => {
  const health = new HealthAggregator(new ManualClock());
  health
    .register("sync", { live: false, timeoutMs: 20_000 })
    .report({ live: true, ready: false, detail: "waiting for\nTypha" });
  health.register("loop", { ready: false, timeoutMs: 90_000 }).report({ live: true, ready: true });
  assert.equal(
    health.summary().text,
    [
      "COMPONENT  TIMEOUT  LIVENESS  READINESS  DETAIL",
      "loop       90s      live      -          -",
      "sync       20s      -         NOT READY  waiting for Typha",
      "",
    ].join("\n"),
  );
});
