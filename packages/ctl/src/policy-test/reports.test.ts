import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runCli, TESTDATA } from "../testing/run-cli.ts";

/** What users of such software have reported, as `OWNER/REPO#NUMBER` in the first line: `NAME.yaml`, `NAME.tests.yaml`. */
const REPORTS = join(TESTDATA, "reports");
const TESTS = ".tests.yaml";

const names = readdirSync(REPORTS)
  .filter((file) => file.endsWith(TESTS))
  .map((file) => file.slice(0, -TESTS.length))
  .sort();

test("there are reports, each with its manifests", () => {
  assert.ok(names.length >= 25, `${names.length} reports`);
  assert.deepEqual(
    readdirSync(REPORTS).sort(),
    names.flatMap((name) => [`${name}${TESTS}`, `${name}.yaml`]),
  );
});

for (const name of names)
  test(`policy does what was expected in reports of users: ${name}`, async () => {
    const { code, out, err } = await runCli(["test", join(REPORTS, `${name}${TESTS}`)]);
    assert.equal(err, "");
    assert.equal(code, 0, out);
    assert.match(out, /^(\d+) tests, \d+ flows: \1 passed, 0 failed$/m);
  });
