/** Several objects at once with odd things in them, through everything that `validate` does: it judges, and never throws. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { convertResources, loadManifests } from "@bulrush/datastore";
import fc from "fast-check";
import { judgeManifests } from "./judge.ts";

/** The long form tries other things each time; the short one always the same. */
const PARAMETERS = process.env["BULRUSH_LONG_TESTS"] === "1" ? { numRuns: 1500 } : { numRuns: 60, seed: 1 };

/** One of each kind with every field. */
const FILE = join(import.meta.dirname, "..", "..", "..", "datastore", "testdata", "every-field.json");
const OBJECTS = JSON.parse(readFileSync(FILE, "utf8")) as readonly unknown[];

const ODD: readonly unknown[] = [
  null,
  "",
  [],
  {},
  true,
  0,
  "(((",
  "10.0.0.1/8",
  "0.0.0.0/24",
  "__proto__",
  [null],
  { a: 1 },
];

/** The value with some of its parts made odd; which ones, the numbers say. */
function spoilt(value: unknown, next: () => number): unknown {
  if (next() % 40 === 0) return ODD[next() % ODD.length];
  if (Array.isArray(value)) return value.map((item) => spoilt(item, next));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, spoilt(part, next)]));
}

test("judgeManifests() judges whatever is in the manifests", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 4000 }), { minLength: 50, maxLength: 50 }), async (numbers) => {
      let at = 0;
      const next = (): number => ((numbers[at % numbers.length] ?? 0) + at++ * 7) >>> 0;
      const items = OBJECTS.filter(() => next() % 3 > 0).map((object) => spoilt(object, next));
      const stdin = (async function* () {
        await Promise.resolve();
        yield Buffer.from(JSON.stringify({ apiVersion: "v1", kind: "List", items }));
      })();
      const loaded = await loadManifests("-", { stdin });
      const { updates, problems } = convertResources(loaded.resources);
      const input = { resources: loaded.resources, updates, problems: [...loaded.problems, ...problems] };
      const { judgements } = judgeManifests(input);
      assert.ok(judgements.length >= loaded.resources.length);
      for (const { valid, errors, warnings } of judgements) {
        assert.equal(valid, errors.length === 0);
        for (const { message } of [...errors, ...warnings]) assert.ok(message.length > 0);
      }
    }),
    PARAMETERS,
  );
});
