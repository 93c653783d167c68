import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

/**
 * Where the graph's acceptance rows stand as tests: sequences of states (1 to 53), its parts (54 to 78), selectors (79 to
 * 115), and what is gathered (116 to 125). What the processors before the graph make of resources is in the datastore's
 * rows. A row that is here names a test, and no test of that name can go unnoticed.
 */
interface Place {
  /** "7" or "7-8". */
  readonly rows: string;
  readonly what: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Its name, or how that begins. */
  readonly test: string;
}

const ROOT = join(import.meta.dirname, "../../..");
const PLACES = JSON.parse(
  readFileSync(join(import.meta.dirname, "../testdata/acceptance/rows.json"), "utf8"),
) as readonly Place[];

/** The numbers of the rows. 57 is of names that only the reference system's logs have. */
const ROWS: readonly number[] = [
  "1 2 3 5 6 7 9 10 11 13 14 15 17 18 19 21 22 23 25 26 27 28 29 30 31 33 34 35 37 38 39 41 42 43 45 46 47 49 50 51 53",
  "54 55 58 59 61 62 63 65 66 67 69 70 71 73 74 75 77 78",
  "79 81 82 83 98 107 110 112 113 114",
  "116 117 118 120 121 122 124 125",
].flatMap((line) => line.split(" ").map(Number));

test("every acceptance row is a test", () => {
  const covered = PLACES.flatMap(({ rows }) => {
    const [first = 0, last = first] = rows.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
  assert.deepEqual(
    ROWS.filter((row) => !covered.includes(row)),
    [],
  );
  for (const { file, test: name } of PLACES) {
    const source = readFileSync(join(ROOT, file), "utf8");
    assert.ok(
      ['"', "`"].some((quote) => source.includes(`${quote}${name}`)),
      `${file} has no test "${name}"`,
    );
  }
});
