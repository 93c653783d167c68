/** The rows of testdata/acceptance: what a host's kernel must do, and which tests show it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

interface Row {
  readonly row: string;
  /** Files from the root of the repository, and words of the test's title (or of the data that it is made of). */
  readonly tests: readonly { readonly file: string; readonly words: string }[];
  /** What of the row is shown in another way than with packets on this kernel, and why. */
  readonly note?: string;
}

const ROOT = join(import.meta.dirname, "..", "..", "..", "..");
const FILE = join(import.meta.dirname, "..", "..", "testdata", "acceptance", "rows.json");
const ROWS = JSON.parse(readFileSync(FILE, "utf8")) as readonly Row[];

/** Rows of nf_tables, policy, routes, tunnels, endpoints and the daemon. */
const WANTED: Readonly<Record<string, readonly number[]>> = {
  N: [1, 2, 3, 5, 6, 7, 9, 11, 12, 14, 15, 17, 20],
  P: [1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 23, 25, 26, 27, 29, 30, 31, 33, 34, 35, 37, 38, 39, 41],
  R: [1, 2, 4, 5, 7, 9, 10, 11, 14, 15, 16, 18, 19, 20, 22, 23, 24],
  V: [2, 3, 4, 7, 8, 9],
  E: [2, 3, 4],
  D: [2, 3, 4, 6],
};

test("every row has a test", () => {
  const wanted = Object.entries(WANTED).flatMap(([letter, numbers]) => numbers.map((number) => `${letter}${number}`));
  assert.deepEqual(
    ROWS.map(({ row }) => row),
    wanted,
  );
  assert.deepEqual(
    ROWS.filter(({ tests }) => tests.length === 0),
    [],
  );
});

for (const { row, tests } of ROWS)
  test(`${row} names tests that are there`, () => {
    const lost = tests.filter(({ file, words }) => {
      const path = join(ROOT, file);
      return !existsSync(path) || !readFileSync(path, "utf8").includes(words);
    });
    assert.deepEqual(lost, []);
  });
