import { deepEqual, equal } from "node:assert/strict";
import { formatKey, type Update } from "@bulrush/model";
import { Rig, type KV, update } from "../harness.ts";
import { actualState } from "./actual-state.ts";
import type { View } from "./contents.ts";
import { expectedState } from "./expected-state.ts";
import { isReady, parametersOf } from "./passthrough.ts";
import type { Plain } from "./plain.ts";
import { ruleIds } from "./rule-ids.ts";
import type { Sequence } from "./sequence.ts";

/** Called after each flush that ended as expected. */
export type OnFlush = (view: View, expected: Readonly<Record<string, Plain>>) => void;

/** Plays a sequence on a graph; throws at the first flush after which the dataplane has not what the model says. */
export function runSequence(sequence: Sequence, onFlush?: OnFlush): void {
  const rig = new Rig(sequence.view.hostname, sequence.view.config, parametersOf);
  const contents = new Map<string, KV>();
  let batch: Update[] = [];
  const send = (): void => {
    rig.graph.onUpdates(batch);
    batch = [];
  };
  const take = (one: Update): void => {
    batch.push(one);
    if (batch.length >= sequence.batch) send();
  };
  let synced = false;
  let wasReady: boolean | undefined;
  for (const step of sequence.steps) {
    if ("set" in step) {
      contents.set(formatKey(step.set.key), step.set);
      take(update(step.set.key, step.set.value));
      continue;
    }
    if ("drop" in step) {
      contents.delete(formatKey(step.drop));
      take(update(step.drop, undefined));
      continue;
    }
    send();
    if ("status" in step) {
      if (step.status === "in-sync") {
        synced = true;
        rig.inSync();
      } else rig.graph.onStatusUpdated(step.status);
    } else {
      rig.flush();
      const sent = rig.messages.map(({ msg }) => msg);
      const view: View = { ...sequence.view, contents: new Map(contents) };
      const expected = expectedState(view, synced);
      const actual = actualState(rig.state, synced);
      if (JSON.stringify(actual) !== JSON.stringify(expected)) {
        for (const [section, value] of Object.entries(expected)) deepEqual(actual[section], value, section);
        deepEqual(actual, expected);
      }
      const ids = ruleIds(rig.state);
      deepEqual(ids.actual, ids.expected, "rule ids");
      if (synced) {
        const inSyncs = sent.filter((msg) => msg === "InSync").length;
        equal(inSyncs, wasReady === undefined ? 1 : 0, "InSync comes once, at the first flush that is in sync");
        const ready = isReady(view);
        const saysNotReady = sent.includes("DatastoreNotReady");
        if (ready || wasReady !== false) equal(saysNotReady, !ready, "DatastoreNotReady");
        wasReady = ready;
      }
      rig.flush();
      deepEqual(rig.messages, [], "a flush without a change");
      onFlush?.(view, expected);
    }
  }
}
