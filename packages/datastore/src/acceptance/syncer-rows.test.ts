/** The rows of testdata/acceptance/syncer.json: what a syncer tells and asks, step by step. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { DatastoreError, type DatastoreErrorCode } from "../errors.ts";
import { ScriptedDriver, scriptedItem } from "../syncer/scripted-driver.ts";
import { createSyncer } from "../syncer/syncer.ts";

const KIND = "CalicoNodeStatus";

interface ListRow {
  readonly error?: DatastoreErrorCode;
  /** Name to revision. */
  readonly items?: Readonly<Record<string, string>>;
  readonly revision?: string;
}

interface StepRow {
  /** What the watch brings first, in this order. */
  readonly bookmark?: string;
  readonly error?: DatastoreErrorCode;
  readonly ends?: boolean;
  /** Time that then passes. */
  readonly ms: number;
  /** Statuses and updates, in order. */
  readonly told: readonly string[];
  /** Lists and watches, each with its revision. */
  readonly asked: readonly string[];
}

interface Row {
  readonly row: string;
  readonly name: string;
  /** The last one stands for all that follow. */
  readonly lists: readonly ListRow[];
  /** What the first watches are refused with. */
  readonly watchErrors?: readonly DatastoreErrorCode[];
  readonly steps: readonly StepRow[];
}

const FILE = join(import.meta.dirname, "..", "..", "testdata", "acceptance", "syncer.json");
const ROWS = JSON.parse(readFileSync(FILE, "utf8")) as readonly Row[];

test("syncer.json has the rows F1 to F4", () => {
  assert.deepEqual([...new Set(ROWS.map(({ row }) => row))], ["F1", "F2", "F3", "F4"]);
});

for (const { row, name, lists, watchErrors = [], steps } of ROWS) {
  test(`${row}: ${name}`, async () => {
    const clock = new ManualClock(1_000_000);
    const driver = new ScriptedDriver();
    const told: string[] = [];
    driver.lists.set(
      KIND,
      lists.map(({ items, revision, error }) => ({
        ...(items && {
          pages: [
            Object.entries(items).map(([of, at]) => scriptedItem(KIND, of, at, { node: "n", classes: ["Agent"] })),
          ],
        }),
        ...(revision !== undefined && { revision }),
        ...(error !== undefined && { error }),
      })),
    );
    driver.watchErrors.set(KIND, [...watchErrors]);
    const syncer = createSyncer("node-status", {
      driver,
      clock,
      callbacks: {
        onStatusUpdated: (status) => void told.push(`status ${status}`),
        onUpdates: (updates) => {
          for (const { type, path, value, revision } of updates)
            told.push([type, path.split("/").at(-1), ...(value === undefined ? [] : [revision])].join(" "));
        },
      },
    });
    syncer.start();
    for (const { bookmark, error, ends = false, ms, told: wanted, asked } of steps) {
      if (bookmark !== undefined) driver.stream(KIND).emit({ type: "bookmark", revision: bookmark });
      if (error !== undefined)
        driver.stream(KIND).emit({ type: "error", error: new DatastoreError(error, { code: error }) });
      if (ends) driver.stream(KIND).end();
      await clock.advance(ms);
      assert.deepEqual([told.splice(0), driver.takeLog()], [wanted, asked]);
    }
    await syncer.stop();
  });
}
