import assert from "node:assert/strict";
import { test } from "node:test";
import { type Evidence, missingEvidence } from "./faults.ts";

const ALL: Evidence = {
  cutWatches: 1,
  restarts: 1,
  compactions: 1,
  expiredWatches: 1,
  expiredContinuations: 1,
  streamedLists: 1,
  refusedStreams: 1,
  pagedLists: 1,
  namespacesGone: 1,
};

test("missingEvidence() is empty only where everything was seen", () => {
  assert.deepEqual(missingEvidence(ALL), []);
  for (const name of Object.keys(ALL) as (keyof Evidence)[]) {
    assert.deepEqual(missingEvidence({ ...ALL, [name]: 0 }), [name]);
    assert.deepEqual(missingEvidence({ ...ALL, [name]: Number.NaN }), [name]);
  }
});
