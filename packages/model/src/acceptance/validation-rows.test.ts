/** The rows of testdata/acceptance/validation.json: what validation accepts. A row may have several entries. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseKey } from "../v1/path.ts";
import type { Update } from "../v1/update.ts";
import type { Resource, Value } from "../v1/value.ts";
import { valueFromPlain } from "../v1/json.ts";
import { validateResource } from "../validation/validate-resource.ts";
import { createValidationFilter, type ValidationFilterOptions } from "../validation/validation-filter.ts";

interface Row {
  readonly row: string;
  readonly valid: boolean;
  /** As its author writes it. */
  readonly resource?: Resource;
  /** What an API server with our definitions says; absent where it cannot tell. */
  readonly server?: "accepts" | "refuses";
  /** A v1 key and its value, as it passes the filter. */
  readonly path?: string;
  readonly value?: unknown;
  readonly spoofing?: "Disabled" | "Any";
}

const FILE = join(import.meta.dirname, "..", "..", "testdata", "acceptance", "validation.json");
const ROWS = JSON.parse(readFileSync(FILE, "utf8")) as readonly Row[];

/** What comes out of the filter. */
function filtered(path: string, plain: unknown, spoofing: Row["spoofing"]): Value | undefined {
  const key = parseKey(path);
  assert.ok(key);
  const out: Update[] = [];
  const sink = {
    onStatusUpdated: () => undefined,
    onUpdates: (updates: readonly Update[]) => {
      out.push(...updates);
    },
  };
  const options: ValidationFilterOptions = spoofing === undefined ? {} : { workloadSourceSpoofing: spoofing };
  const value = valueFromPlain(key, plain);
  void createValidationFilter(sink, () => undefined, options).onUpdates([
    { key, path, value, revision: "1", type: "new" },
  ]);
  assert.equal(out.length, 1);
  return out[0]?.value;
}

test("validation.json has the rows G1 to G12", () => {
  const wanted = Array.from({ length: 12 }, (_, i) => `G${i + 1}`);
  assert.deepEqual([...new Set(ROWS.map(({ row }) => row))], wanted);
});

for (const { row, valid, resource, path, value, spoofing } of ROWS) {
  const what = resource === undefined ? JSON.stringify(value) : `${resource.kind} ${resource.metadata.name}`;
  test(`${row}: ${what.slice(0, 80)} is ${valid ? "right" : "wrong"}`, () => {
    if (resource !== undefined) assert.equal(validateResource(resource).length === 0, valid);
    else assert.equal(filtered(path ?? "", value, spoofing) !== undefined, valid);
  });
}
