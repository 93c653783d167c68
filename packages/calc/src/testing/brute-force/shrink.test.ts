import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "@bulrush/base";
import type { Policy } from "@bulrush/model";
import { dice } from "./dice.ts";
import { randomSequence, type Sequence, type Step } from "./sequence.ts";
import { shrink } from "./shrink.ts";

const policyOf = (step: Step): Policy | undefined =>
  "set" in step && step.set.key.type === "Policy" ? (step.set.value as Policy) : undefined;

/** Stands for a bug: an enforced policy with a rule that logs, and a flush at some time after it. */
function fails({ steps }: Sequence): boolean {
  const at = steps.findIndex((step) => policyOf(step)?.inbound_rules.some(({ action }) => action === "log"));
  return at >= 0 && steps.slice(at).some((step) => "flush" in step);
}

test("shrink() leaves only what makes a sequence fail", () => {
  let seed = 1;
  let sequence = randomSequence(dice(seededRandom(seed)));
  while (!fails(sequence)) sequence = randomSequence(dice(seededRandom(++seed)));
  const small = shrink(sequence, fails);
  assert.ok(sequence.steps.length > 5);
  assert.equal(small.steps.length, 2);
  const [first, last] = small.steps;
  const policy = first && policyOf(first);
  assert.deepEqual(policy?.inbound_rules, [{ action: "log" }]);
  assert.deepEqual(policy.outbound_rules, []);
  assert.equal(policy.order, undefined);
  assert.deepEqual(last, { flush: true });
});

test("shrink() ends when its tries are spent", () => {
  let tries = 0;
  const sequence = randomSequence(dice(seededRandom(1)));
  const never = (): boolean => {
    tries++;
    return false;
  };
  assert.equal(shrink(sequence, never, 7), sequence);
  assert.equal(tries, 7);
});
