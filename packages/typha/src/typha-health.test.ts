import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { HealthAggregator } from "@bulrush/service";
import type { KindReport } from "@bulrush/datastore";
import type { Pipeline } from "./pipeline/pipeline.ts";
import { TyphaHealth } from "./typha-health.ts";

const WORDS = "Tier is not in sync: List failed (DATASTORE_UNAUTHORIZED, since 2026-11-30T12:00:00Z)";

/** Health of one pipeline, of which a test says what it is like. */
function harness(staleAfterMs = 0) {
  const clock = new ManualClock(0);
  const health = new HealthAggregator(clock);
  const state = { problem: undefined as string | undefined, words: [] as string[], isReady: false, ages: [0, 0] };
  const kind = (name: KindReport["kind"], upstreamAgeMs = 0): KindReport => ({
    kind: name,
    status: "in-sync",
    upstreamAgeMs,
    keys: 0,
  });
  const pipeline = {
    type: "felix",
    status: "resync",
    cache: { onPublish: () => undefined },
    words: () => state.words,
    readiness: () => ({ ready: state.isReady, detail: ["of the pipeline", ...state.words].join("; ") }),
    kinds: () => [kind("Tier", state.ages[0]), kind("Node", state.ages[1])],
    upstreamAgeMs: () => Math.max(...state.ages),
  } as unknown as Pipeline;
  const typha = new TyphaHealth({
    health,
    clock,
    pipelines: [pipeline],
    staleAfterMs,
    datastoreProblem: () => state.problem,
    serverProblem: () => undefined,
    serverNotices: () => [],
    streams: () => 0,
    onReport: () => undefined,
  });
  typha.report();
  /** What the table says now, in a second from the last look. */
  const said = async (): Promise<string | undefined> => {
    await clock.advance(1000);
    return /felix-cache +\S+ +live +((?:NOT )?READY.*|ready.*)/i
      .exec(health.summary().text)?.[1]
      ?.replaceAll(/ +/g, " ");
  };
  return { state, said, close: () => typha.close() };
}

test("TyphaHealth says what is amiss with single kinds also while the datastore as a whole is not to be served", async () => {
  const { state, said, close } = harness();
  assert.equal(await said(), "NOT READY of the pipeline");
  state.problem = "The datastore cannot be opened";
  assert.equal(await said(), "NOT READY The datastore cannot be opened (since 1970-01-01T00:00:02Z)");
  // Other words for it do not make it younger.
  state.problem = "The datastore is not initialised";
  state.words = [WORDS];
  assert.equal(await said(), `NOT READY The datastore is not initialised (since 1970-01-01T00:00:02Z); ${WORDS}`);
  state.problem = undefined;
  assert.equal(await said(), `NOT READY of the pipeline; ${WORDS}`);
  close();
});

test("TyphaHealth names the kinds of which nothing was heard for too long", async () => {
  const { state, said, close } = harness(120_000);
  state.isReady = true;
  state.ages = [120_000, 5000];
  assert.equal(await said(), "ready of the pipeline");
  state.ages = [130_400, 5000];
  state.words = [WORDS];
  assert.equal(await said(), `NOT READY stale: no answer from the datastore for 130 s about Tier; ${WORDS}`);
  close();
});
