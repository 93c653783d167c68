import assert from "node:assert/strict";
import { test } from "node:test";
import { LabelKeys, NO_LABELS } from "./label-set.ts";
import { ProfileLabels } from "./profile-labels.ts";

const keys = new LabelKeys();
const labels = (value: string) => keys.makeSet(new Map([["a", value]]));

test("set() says what became of a profile", () => {
  const profiles = new ProfileLabels();
  assert.equal(profiles.set("p", undefined), "none");
  assert.equal(profiles.set("p", NO_LABELS), "came");
  assert.equal(profiles.size, 1);
  assert.equal(profiles.set("p", NO_LABELS), "none");
  assert.equal(profiles.set("p", labels("1")), "changed");
  assert.equal(profiles.set("p", labels("1")), "none");
  assert.deepEqual(profiles.get("p"), labels("1"));
  assert.equal(profiles.set("p", undefined), "went");
  assert.equal(profiles.size, 0);
  assert.deepEqual(profiles.get("p"), NO_LABELS);
});
