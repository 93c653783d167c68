import assert from "node:assert/strict";
import { test } from "node:test";
import type { Update } from "@bulrush/model";
import { setting } from "../testing/agent-rig.ts";
import type { SourceCallbacks } from "./source.ts";
import { withoutHeld } from "./without-held.ts";

function rig(...updates: readonly Update[]): { readonly calls: string[]; readonly source: SourceCallbacks } {
  const calls: string[] = [];
  const next: SourceCallbacks = {
    onUpdates: (told) =>
      void calls.push(
        ...told.map(
          ({ path, value, type }) =>
            `${type} ${path.split("/").at(-1)}=${value === undefined ? "" : (value as string)}`,
        ),
      ),
    onStatusUpdated: (status) => void calls.push(status),
    onSequence: (sequence) => void calls.push(`#${sequence}`),
  };
  return { calls, source: withoutHeld(next, { updates, atMs: 0 }) };
}

test("withoutHeld() tells only what differs, and deletes at in-sync what was not told", async () => {
  const { calls, source } = rig(setting("A", "1"), setting("B", "1"), setting("C", "1"));
  await source.onStatusUpdated("resync");
  await source.onUpdates([setting("A", "1")]);
  await source.onUpdates([setting("B", "2"), setting("D", "1")]);
  assert.deepEqual(calls.splice(0), ["resync", "updated B=2", "new D=1"]);
  await source.onStatusUpdated("in-sync");
  assert.deepEqual(calls, ["deleted C=", "in-sync"]);
});

test("withoutHeld() tells a key again that goes back to what is held, and a delete before in-sync", async () => {
  const { calls, source } = rig(setting("A", "1"), setting("B", "1"));
  await source.onUpdates([setting("A", "2")]);
  await source.onUpdates([setting("A", "1"), setting("B", undefined)]);
  assert.deepEqual(calls, ["updated A=2", "new A=1", "deleted B="]);
});

test("withoutHeld() lets everything through once the source was in sync", async () => {
  const { calls, source } = rig(setting("A", "1"));
  await source.onUpdates([setting("A", "1")]);
  await source.onStatusUpdated("in-sync");
  await source.onUpdates([setting("A", "1")]);
  await source.onStatusUpdated("in-sync");
  await source.onSequence(4);
  assert.deepEqual(calls, ["in-sync", "new A=1", "in-sync", "#4"]);
});
