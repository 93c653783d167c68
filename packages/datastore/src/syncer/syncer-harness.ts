import assert from "node:assert/strict";
import { ManualClock } from "@bulrush/base";
import type { SyncerType, Update } from "@bulrush/model";
import type { Item, WatchEvent } from "../driver/driver.ts";
import { DatastoreError, type DatastoreErrorCode } from "../errors.ts";
import { type ListStep, ScriptedDriver, type ScriptedStream, scriptedItem } from "./scripted-driver.ts";
import { createSyncer, type Syncer, type SyncerOptions } from "./syncer.ts";

export const KIND = "CalicoNodeStatus";

/** A syncer on a scripted driver and a manual clock. */
interface Harness {
  readonly clock: ManualClock;
  readonly driver: ScriptedDriver;
  readonly syncer: Syncer;
  /** What the callbacks got since the last call: `status in-sync`, `new a 3`, `deleted a`. */
  take(): string[];
  readonly batches: (readonly Update[])[];
  readonly stream: ScriptedStream;
  advance(ms: number): Promise<void>;
}

export function nameOf(update: Update): string {
  return update.path.split("/").at(-1) ?? "";
}

export function harness(options: Partial<SyncerOptions> & { type?: SyncerType } = {}): Harness {
  const clock = new ManualClock(1_000_000);
  const driver = new ScriptedDriver();
  const log: string[] = [];
  const batches: (readonly Update[])[] = [];
  const syncer = createSyncer(options.type ?? "node-status", {
    driver,
    clock,
    callbacks: {
      onStatusUpdated: (status) => void log.push(`status ${status}`),
      onUpdates: (updates) => {
        batches.push(updates);
        for (const update of updates)
          log.push(`${update.type} ${nameOf(update)}${update.value === undefined ? "" : ` ${update.revision}`}`);
      },
    },
    ...options,
  });
  return {
    clock,
    driver,
    syncer,
    batches,
    take: () => log.splice(0),
    get stream() {
      return driver.stream(KIND);
    },
    advance: (ms) => clock.advance(ms),
  };
}

/** A node-status syncer with these list steps, started. */
export async function started(...steps: ListStep[]): Promise<Harness> {
  const h = harness();
  h.driver.lists.set(KIND, steps);
  h.syncer.start();
  await h.advance(0);
  return h;
}

/** In sync at revision 10 with items a and b, watching. */
export async function watching(...more: ListStep[]): Promise<Harness> {
  const h = await started({ pages: [[item("a", "3"), item("b", "4")]], revision: "10" }, ...more);
  assert.deepEqual(h.take(), ["status wait-for-ready", "status resync", "new a 3", "new b 4", "status in-sync"]);
  assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 0`, `watch ${KIND} 10`]);
  return h;
}

export function item(name: string, revision: string): Item {
  return scriptedItem(KIND, name, revision, { node: "n", classes: ["Agent"], updatePeriodSeconds: 10 });
}

export function errorEvent(code: DatastoreErrorCode): WatchEvent {
  return { type: "error", error: new DatastoreError(code, { code }) };
}

export function reasonOf(h: Harness): string | undefined {
  return h.syncer.report()[0]?.reason;
}
