import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { DATASTORE_ERROR_CODES, datastoreCodeOf, DatastoreError } from "./errors.ts";

test("DATASTORE_ERROR_CODES is the list of the README", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const listed = [...readme.matchAll(/^\| `(DATASTORE_[A-Z_]+)` \|/gm)].map((match) => match[1]);
  assert.deepEqual(listed, [...DATASTORE_ERROR_CODES]);
});

test("datastoreCodeOf() takes anything unknown as DATASTORE_FAILED", () => {
  assert.equal(datastoreCodeOf(new DatastoreError("x", { code: "DATASTORE_EXPIRED" })), "DATASTORE_EXPIRED");
  assert.equal(datastoreCodeOf(new Error("x")), "DATASTORE_FAILED");
  assert.equal(datastoreCodeOf("x"), "DATASTORE_FAILED");
});
