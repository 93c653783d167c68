import assert from "node:assert/strict";
import { test } from "node:test";
import { Remembered } from "./remembered.ts";

test("Remembered keeps what was set last, up to its bound", () => {
  const remembered = new Remembered<number>(2);
  remembered.set("a", 1);
  remembered.set("b", 2);
  remembered.set("a", 3);
  remembered.set("c", 4);
  assert.deepEqual(
    ["a", "b", "c"].map((name) => remembered.get(name)),
    [3, undefined, 4],
  );
  remembered.delete("a");
  assert.equal(remembered.get("a"), undefined);
});
