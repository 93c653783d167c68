import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { crdFiles } from "../packages/model/src/crd/files.ts";

const CRDS = join(import.meta.dirname, "..", "deploy", "crds");

test("deploy/crds is what generate-crds.ts makes of the schemas", () => {
  const files = crdFiles();
  assert.deepEqual(globSync("*/*", { cwd: CRDS }).sort(), files.map(({ path }) => path).sort());
  for (const { path, text } of files)
    assert.equal(readFileSync(join(CRDS, path), "utf8"), text, `${path}: run scripts/generate-crds.ts`);
});
