import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Resource } from "../../v1/value.ts";
import { validateResource } from "../validate-resource.ts";

/** A row of a table: a resource, and the paths of the issues that it must have, in order. */
export type Row = readonly [resource: Resource, ...paths: string[]];

/** One test a row: without paths the resource must be accepted. For the tests of this folder. */
export function describeRows(title: string, rows: readonly Row[]): void {
  void describe(`validateResource() of ${title}`, () => {
    for (const [resource, ...paths] of rows) {
      const name = JSON.stringify({ name: resource.metadata.name, spec: resource.spec, status: resource.status });
      void it(`${resource.kind} ${name.slice(0, 110)} ${paths.length === 0 ? "is right" : `is wrong at ${paths[0]}`}`, () =>
        assert.deepEqual(
          validateResource(resource).map((issue) => issue.path),
          paths,
        ));
    }
  });
}
