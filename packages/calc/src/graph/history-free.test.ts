import assert from "node:assert/strict";
import { test } from "node:test";
import { formatKey } from "@bulrush/model";
import fc from "fast-check";
import { anyKV, changed, type Step, steps } from "../testing/arbitraries.ts";
import { freshState, HOST, type KV, Rig, update } from "../testing/harness.ts";

/** Longer in the long form of the tests. */
const RUNS = process.env["BULRUSH_LONG_TESTS"] === "1" ? 10_000 : 400;

const CONFIG = { vxlanEnabled: true };

/** Runs the steps on one graph; returns what the datastore holds at the end. */
function run(rig: Rig, sequence: readonly Step[], syncAt: number): KV[] {
  const live = new Map<string, KV>();
  const set = (kv: KV): void => {
    live.set(formatKey(kv.key), kv);
    rig.graph.onUpdates([update(kv.key, kv.value)]);
  };
  for (const [i, step] of sequence.entries()) {
    if (i === syncAt) rig.inSync();
    if ("flush" in step) rig.flush();
    else if ("set" in step) set(step.set);
    else if ("change" in step) {
      const sameType = [...live.values()].filter((kv) => kv.key.type === step.like.key.type);
      const kv = sameType[step.change % Math.max(1, sameType.length)];
      const next = kv && changed(kv, step.like, step.fields);
      if (next !== undefined) set(next);
    } else {
      const kv = [...live.values()][step.drop % Math.max(1, live.size)];
      // One that is not there is deleted too: a spurious delete must not matter.
      if (kv === undefined) continue;
      live.delete(formatKey(kv.key));
      rig.graph.onUpdates([update(kv.key, undefined), update(kv.key, undefined)]);
    }
  }
  if (syncAt >= sequence.length) rig.inSync();
  rig.flush();
  return [...live.values()];
}

test("CalcGraph ends in the same state whatever came before", () => {
  fc.assert(
    fc.property(steps, fc.nat({ max: 80 }), fc.constantFrom(HOST, "*"), (sequence, syncAt, hostname) => {
      const rig = new Rig(hostname, CONFIG);
      const live = run(rig, sequence, syncAt);
      assert.deepEqual(rig.normal, freshState(live, CONFIG, hostname));
      rig.flush();
      assert.deepEqual(rig.messages, [], "a flush without a change sends nothing");
      rig.graph.onUpdates(live.map(({ key }) => update(key, undefined)));
      rig.flush();
      assert.deepEqual(rig.normal, freshState([], CONFIG, hostname), "nothing is left of it");
    }),
    { numRuns: RUNS },
  );
});

test("CalcGraph sends the same messages in the same order for one state, whatever the order it came in", () => {
  const shuffled = fc
    .uniqueArray(anyKV, { selector: (kv) => formatKey(kv.key), maxLength: 40, size: "max" })
    .chain((state) =>
      fc.tuple(fc.constant(state), fc.shuffledSubarray(state, { minLength: state.length, maxLength: state.length })),
    );
  fc.assert(
    fc.property(shuffled, (orders) => {
      const [a, b] = orders.map((state) => {
        const rig = new Rig(HOST, CONFIG);
        rig.go(state);
        rig.inSync();
        rig.flush();
        // Members are a set: their order in a message means nothing.
        return rig.messages.map((message) =>
          message.msg === "IPSetUpdate" ? { ...message, members: message.members.toSorted() } : message,
        );
      });
      assert.deepEqual(a, b);
    }),
    { numRuns: RUNS / 4 },
  );
});
