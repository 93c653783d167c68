import assert from "node:assert/strict";
import { test } from "node:test";
import type { CalcGraphConfig } from "../graph/config.ts";
import { runSequence, type State } from "./harness.ts";
import type { Normal } from "./normal-state.ts";

/** What must be in the dataplane: the sections named are compared whole, sets of names where only names are given. */
interface Expected {
  readonly ipSets?: Readonly<Record<string, readonly string[]>>;
  readonly policies?: readonly string[];
  readonly profiles?: readonly string[];
  readonly workloadTiers?: Normal["workloadTiers"];
  readonly hostTiers?: Normal["hostTiers"];
  readonly others?: Readonly<Record<string, unknown>>;
  readonly also?: (actual: Normal) => void;
}

/** A state with what it must give. */
export interface ExpectedState {
  readonly name: string;
  readonly kvs: State;
  readonly expect: Expected;
}

/** A test that sends the states in every order and flush strategy and compares each with what is expected. */
export function sequence(name: string, states: readonly ExpectedState[], config: Partial<CalcGraphConfig> = {}): void {
  void test(name, () => {
    runSequence(
      states.map((state) => state.kvs),
      (kvs, actual) => {
        const state = states.find((one) => one.kvs === kvs);
        assert.ok(state !== undefined);
        compare(state, actual);
      },
      config,
    );
  });
}

function compare({ name, expect }: ExpectedState, actual: Normal): void {
  const sorted = (sets: Readonly<Record<string, readonly string[]>>): unknown =>
    Object.fromEntries(Object.entries(sets).map(([id, members]) => [id, members.toSorted()]));
  if (expect.ipSets !== undefined) assert.deepEqual(actual.ipSets, sorted(expect.ipSets), name);
  if (expect.policies !== undefined) assert.deepEqual(Object.keys(actual.policies), expect.policies.toSorted(), name);
  if (expect.profiles !== undefined) assert.deepEqual(Object.keys(actual.profiles), expect.profiles.toSorted(), name);
  if (expect.workloadTiers !== undefined) assert.deepEqual(actual.workloadTiers, expect.workloadTiers, name);
  if (expect.hostTiers !== undefined) assert.deepEqual(actual.hostTiers, expect.hostTiers, name);
  for (const [section, value] of Object.entries(expect.others ?? {}))
    assert.deepEqual(actual.others[section], value, `${name}: ${section}`);
  expect.also?.(actual);
}
