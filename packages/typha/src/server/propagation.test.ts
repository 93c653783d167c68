import assert from "node:assert/strict";
import { test } from "node:test";
import { PropagationWindow } from "./propagation.ts";

test("PropagationWindow.view() gives the nearest rank of the samples, and null without any", () => {
  const window = new PropagationWindow();
  assert.deepEqual(window.view(), { samples: 0, p50Ms: null, p90Ms: null, p99Ms: null, maxMs: null });
  for (let ms = 100; ms >= 1; ms--) window.add(ms);
  assert.deepEqual(window.view(), { samples: 100, p50Ms: 50, p90Ms: 90, p99Ms: 99, maxMs: 100 });
});

test("PropagationWindow keeps the newest 1,024", () => {
  const window = new PropagationWindow();
  for (let i = 0; i < 1024; i++) window.add(1000);
  for (let i = 0; i < 1024; i++) window.add(1);
  assert.deepEqual(window.view(), { samples: 1024, p50Ms: 1, p90Ms: 1, p99Ms: 1, maxMs: 1 });
});
