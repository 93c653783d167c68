import assert from "node:assert/strict";
import { test } from "node:test";
import type { Key, Value } from "@bulrush/model";
import type { ProcessedKV } from "../process/processor.ts";
import { KnownKeys } from "./known-keys.ts";

const KEY: Key = { type: "GlobalConfig", name: "x" };

function from(name: string, revision: string, value: Value): ProcessedKV {
  return { key: KEY, value, origin: { name, revision } };
}

/** What is sent for each step: the type and the value. */
function sent(keys: KnownKeys, output: ProcessedKV, revision: string, isClosedForm = false): unknown {
  const update = keys.apply(output, revision, isClosedForm);
  return typeof update === "object" ? [update.type, update.value, update.revision] : update;
}

test("KnownKeys swallows what has not changed and the delete of what it does not know", () => {
  const keys = new KnownKeys();
  assert.equal(sent(keys, { key: KEY, value: undefined }, "1"), undefined);
  assert.deepEqual(sent(keys, { key: KEY, value: "a" }, "1"), ["new", "a", "1"]);
  assert.equal(sent(keys, { key: KEY, value: "a" }, "1"), undefined);
  assert.deepEqual(sent(keys, { key: KEY, value: "b" }, "2"), ["updated", "b", "2"]);
  assert.deepEqual(sent(keys, { key: KEY, value: undefined }, "3"), ["deleted", undefined, "3"]);
  assert.equal(keys.size, 0);
});

test("KnownKeys tells two items of one revision apart: the contents of the one that takes over are sent", () => {
  const keys = new KnownKeys();
  assert.deepEqual(sent(keys, from("a", "5", "of a"), "5"), ["new", "of a", "5"]);
  // Both were written in one transaction; "a" goes in a later one.
  assert.deepEqual(sent(keys, from("b", "5", "of b"), "9"), ["updated", "of b", "5"]);
  assert.equal(sent(keys, from("b", "5", "of b"), "10"), undefined);
});

test("KnownKeys sends the good value of a revision after its closed form, and no closed form after a good value", () => {
  const keys = new KnownKeys();
  assert.deepEqual(sent(keys, { key: KEY, value: "closed" }, "1", true), ["new", "closed", "1"]);
  assert.deepEqual(sent(keys, { key: KEY, value: "good" }, "1"), ["updated", "good", "1"]);
  assert.equal(sent(keys, { key: KEY, value: "closed" }, "2", true), "kept");
  assert.equal(sent(keys, { key: KEY, value: "good" }, "1"), undefined);
});

test("KnownKeys deletes at the end of a full list what the list did not have", () => {
  const keys = new KnownKeys();
  const other: Key = { type: "GlobalConfig", name: "y" };
  keys.apply({ key: KEY, value: "a" }, "1", false);
  keys.apply({ key: other, value: "b" }, "1", false);
  keys.startResync();
  assert.equal(keys.apply({ key: KEY, value: "a" }, "1", false), undefined);
  assert.deepEqual(
    keys.finishResync("7").map(({ path, value, revision, type }) => [path, value, revision, type]),
    [["/calico/v1/config/y", undefined, "7", "deleted"]],
  );
  assert.deepEqual(
    keys.clear("8").map(({ path }) => path),
    ["/calico/v1/config/x"],
  );
});
